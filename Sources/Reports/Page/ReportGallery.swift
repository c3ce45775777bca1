import ImageModel
import JobQueue
import Terminal

/// A report's images as data for its script, bounded in bytes.
///
/// Arrays instead of objects, and numbers instead of repeated texts, let 100,000 images fit. They are in parts with
/// separate texts, so that the page shows before the script has read all.
struct ReportGallery {
    /// Maximum bytes of the rows in a file, about 200,000 images of one variant, and in a mail.
    static let maxFileBytes = 64_000_000, maxMailBytes = 2_500_000
    private static let partSize = 1_000
    /// Remaining bytes at which reading ends: few rows are shorter, and reading the rest of a large batch takes
    /// seconds.
    private static let leastRoom = 400

    /// Maximum bytes of the rows.
    let maxBytes: Int
    /// The records with a row.
    private(set) var items: [Item] = []
    /// Bytes of the rows in the page.
    private(set) var bytes = 0
    private var part = Part()
    private var failureBytes = 0

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Adds a record if its kind has room; false if the gallery is full.
    mutating func add(_ record: StoredRecord) -> Bool {
        // Show successes even if nearly all images failed.
        let isFailure = record.outcome != .succeeded
        let room = min(maxBytes - bytes, isFailure ? maxFailureBytes - failureBytes : .max)
        // The smallest row is longer.
        guard room > record.url.utf8.count + 20 else { return isOpen }
        guard let size = part.add(record, within: room) else { return isOpen }
        bytes += size
        if isFailure { failureBytes += size }
        items.append(
            Item(
                names: record.stored.map { $0.path?.split(separator: "/").last.map(String.init) },
                isAnimated: record.stored.lazy.compactMap(\.digest).first?.frames ?? 1 > 1))
        return isOpen
    }

    private var maxFailureBytes: Int { maxBytes - min(maxBytes / 2, 8_000_000) }

    /// Whether another row may fit.
    private var isOpen: Bool { bytes <= maxBytes - Self.leastRoom }

    /// Whether the part that is being filled has 1,000 images.
    var hasWholePart: Bool { part.count == Self.partSize }

    /// Begins the next part and returns this one; nil for an empty one.
    ///
    /// It is JSON that is safe in a script element: `items` are
    /// `[url, outcome, error, files, thumbHash, colour, frames, attempts]`; outcome 0 succeeded, 1 failed, 2 cancelled;
    /// files are `[name, shared, key, path, format, width, height, bytes, error, unchanged]`, where a key begins with as
    /// many UTF-16 units of the URL as `shared` says. Names, formats and errors are places in the arrays of their own,
    /// null for none.
    mutating func takePart() -> String? {
        defer { part = Part() }
        return part.count == 0 ? nil : part.json
    }

    /// The parts of a record needed for its pictures.
    struct Item {
        /// The cache files' names, original first; nil if not stored.
        let names: [String?]
        let isAnimated: Bool
    }

    private struct Part {
        private(set) var count = 0
        private var rows = ScriptJSON()
        private var names = NumberedTexts(), formats = NumberedTexts(), errors = NumberedTexts()

        /// Adds a row and returns its bytes; nil if it exceeds `room`.
        mutating func add(_ record: StoredRecord, within room: Int) -> Int? {
            var row = ScriptJSON()
            let digest = record.stored.lazy.compactMap(\.digest).first
            let before = (names, formats, errors)
            let textBytes = self.textBytes
            row.addArray { row in
                row.add(ShownURL.masked(record.url))
                row.add(record.outcome == .succeeded ? 0 : record.outcome == .failed ? 1 : 2)
                row.add(errors.number(of: record.error.map { Self.text($0, of: record.url) }))
                row.addArray { files in for file in record.stored { files.addArray { add(file, of: record, to: &$0) } }
                }
                row.add(digest?.thumbHash)
                row.add(digest.map { "#" + $0.dominantColor.suffix(6) })
                row.add(digest?.frames ?? 1)
                row.add(record.attempts)
            }
            let size = row.bytes.count + self.textBytes - textBytes
            guard size <= room else {
                (names, formats, errors) = before
                return nil
            }
            rows.append(row)
            count += 1
            return size
        }

        private mutating func add(_ file: StoredFile, of record: StoredRecord, to row: inout ScriptJSON) {
            row.add(names.number(of: file.name))
            let (key, url) = (ShownURL.masked(file.key), ShownURL.masked(record.url))
            let shared = zip(key.unicodeScalars, url.unicodeScalars).prefix { $0 == $1 }
            row.add(shared.reduce(0) { $0 + UTF16.width($1.0) })
            row.add(String(String.UnicodeScalarView(key.unicodeScalars.dropFirst(shared.count))))
            row.add(file.path)
            row.add(formats.number(of: file.format))
            row.add(file.width)
            row.add(file.height)
            row.add(file.bytes)
            row.add(errors.number(of: file.error.map { Self.text($0, of: record.url) }))
            row.add(file.unchanged == true ? 1 : 0)
        }

        /// The error without the URL, so that equal errors share a text.
        private static func text(_ error: FailureReason, of url: String) -> String {
            let message = FailureLine.message(error.message, of: url)
            return FailureReason(domain: error.domain, code: error.code, message: message).text
        }

        private var textBytes: Int { names.json.bytes.count + formats.json.bytes.count + errors.json.bytes.count }

        var json: String {
            let fields = [
                ("names", names.json), ("formats", formats.json), ("errors", errors.json), ("items", rows),
            ].map { name, values in "\"\(name)\":[" + String(decoding: values.bytes.dropLast(), as: UTF8.self) + "]" }
            return "{" + fields.joined(separator: ",") + "}"
        }
    }
}

/// Repeated texts in order of first appearance.
private struct NumberedTexts {
    private(set) var json = ScriptJSON()
    private var numbers: [String: Int] = [:]

    /// A text's number, a new one for a new text; nil for nil.
    mutating func number(of text: String?) -> Int? {
        guard let text else { return nil }
        if let number = numbers[text] { return number }
        numbers[text] = numbers.count
        json.add(text)
        return numbers.count - 1
    }
}
