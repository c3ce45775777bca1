import ImageModel
import JobQueue
import Terminal

/// The images of a report as data for its script, bounded in bytes.
///
/// The script reads arrays instead of objects, and numbers instead of repeated texts, so that many thousand images fit.
struct ReportGallery {
    /// The most bytes that the rows may take in the page, about 10,000 images of three variants.
    static let maxBytes = 2_500_000
    /// The most records that are read.
    private static let maxRead = 250_000
    /// The room that ends the reading: few rows take less, and reading the rest of a large batch takes seconds.
    private static let leastRoom = 400

    /// The records that have a row.
    private(set) var items: [Item] = []
    /// Bytes of the rows in the page.
    private(set) var bytes = 0
    /// How many items have a picture, and how many pictures there are.
    private(set) var picturedItems = 0, pictureCount = 0
    private var rows: [String] = []
    private var pictures: [String] = []
    private var failureBytes = 0
    private var read = 0
    private var names = NumberedTexts()
    private var formats = NumberedTexts()
    private var errors = NumberedTexts()

    /// Adds a record unless its kind has had its room; false when the gallery is full or `maxRead`
    /// records have been read.
    mutating func add(_ record: StoredRecord) throws -> Bool {
        read += 1
        // Successes are shown even when nearly all images failed.
        let isFailure = record.outcome != .succeeded
        let room = min(Self.maxBytes - bytes, isFailure ? Self.maxBytes / 2 - failureBytes : .max)
        // The smallest row has more than this.
        guard room > record.url.utf8.count + 20 else { return isOpen }
        let before = (names, formats, errors)
        let row = HTML.escaped(json: try JSONLine.text(Self.row(record, &names, &formats, &errors)))
        let size =
            row.utf8.count + 1 + names.bytes + formats.bytes + errors.bytes
            - before.0.bytes - before.1.bytes - before.2.bytes
        guard size <= room else {
            (names, formats, errors) = before
            return isOpen
        }
        rows.append(row)
        bytes += size
        if isFailure { failureBytes += size }
        items.append(
            Item(
                names: record.stored.map { $0.path?.split(separator: "/").last.map(String.init) },
                isAnimated: record.stored.lazy.compactMap(\.digest).first?.frames ?? 1 > 1))
        return isOpen
    }

    /// Whether another record may have a row.
    private var isOpen: Bool { bytes <= Self.maxBytes - Self.leastRoom && read < Self.maxRead }

    /// `[url, outcome, error, files, thumbHash, colour, frames, attempts]`, and the job where a key is masked: no file is
    /// found by such a key.
    private static func row(
        _ record: StoredRecord, _ names: inout NumberedTexts, _ formats: inout NumberedTexts,
        _ errors: inout NumberedTexts
    ) -> JSONRow {
        var isMasked = false
        let files = record.stored.map { file in
            let key = ShownURL.masked(file.key)
            if key != file.key { isMasked = true }
            return JSONRow([
                names.number(of: file.name), file.key == record.url ? nil : key, file.path,
                formats.number(of: file.format), file.width, file.height, file.bytes,
                errors.number(of: file.error.map { text($0, of: record.url) }), file.unchanged == true ? 1 : 0,
            ])
        }
        let digest = record.stored.lazy.compactMap(\.digest).first
        let outcome =
            switch record.outcome {
            case .succeeded: 0
            case .failed: 1
            case .cancelled: 2
            }
        var values: [(any Encodable)?] = [
            ShownURL.masked(record.url), outcome, errors.number(of: record.error.map { text($0, of: record.url) }),
            files, digest?.thumbHash, digest.map { "#" + $0.dominantColor.suffix(6) }, digest?.frames ?? 1,
            record.attempts,
        ]
        if isMasked { values.append(record.job) }
        return JSONRow(values)
    }

    /// The error without the URL, so that equal errors have one text.
    private static func text(_ error: FailureReason, of url: String) -> String {
        let message = FailureLine.message(error.message, of: url)
        return FailureReason(domain: error.domain, code: error.code, message: message).text
    }

    /// Adds the pictures of files of one item, as base64.
    mutating func add(_ made: [(file: Int, picture: String)], ofItem item: Int) {
        if !items[item].hasPicture, !made.isEmpty {
            items[item].hasPicture = true
            picturedItems += 1
        }
        pictureCount += made.count
        pictures += made.map { Self.picture(item, $0.file, $0.picture) }
    }

    /// Bytes of the pictures in the page.
    static func bytes(of made: [(file: Int, picture: String)], ofItem item: Int) -> Int {
        made.reduce(0) { $0 + picture(item, $1.file, $1.picture).utf8.count + 1 }
    }

    private static func picture(_ item: Int, _ file: Int, _ base64: String) -> String {
        "[\(item),\(file),\"\(base64)\"]"
    }

    /// The data: `items` are `[url, outcome, error, files, thumbHash, colour, frames, attempts]`, with the job at the end
    /// where a key is masked; outcome 0 succeeded, 1 failed, 2 cancelled; files are
    /// `[name, key, path, format, width, height, bytes, error, unchanged]`. Names, formats and errors are places in the
    /// arrays of their own, null for none; a key that is the URL is null. `pictures` are `[item, file, WebP in base64]`.
    /// It is safe in a script element.
    func json() throws -> String {
        let texts = try [("names", names), ("formats", formats), ("errors", errors)].map { name, texts in
            "\"\(name)\":" + HTML.escaped(json: try JSONLine.text(texts.texts))
        }
        return "{" + texts.joined(separator: ",") + ",\"items\":[" + rows.joined(separator: ",") + "],\"pictures\":["
            + pictures.joined(separator: ",") + "]}"
    }

    /// The parts of a record that its pictures need.
    struct Item {
        /// The names of the files of the cache, original first; nil for one that is not stored.
        let names: [String?]
        let isAnimated: Bool
        fileprivate(set) var hasPicture = false
    }
}

/// An array of values of several types.
private struct JSONRow: Encodable {
    private let values: [(any Encodable)?]

    init(_ values: [(any Encodable)?]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var row = encoder.unkeyedContainer()
        for value in values {
            if let value { try row.encode(value) } else { try row.encodeNil() }
        }
    }
}

/// Texts that repeat, by the order in which they first come.
private struct NumberedTexts {
    private(set) var texts: [String] = []
    /// Most bytes of the texts as JSON in a page.
    private(set) var bytes = 0
    private var numbers: [String: Int] = [:]

    /// The number of a text, a new one for a new text; nil for nil.
    mutating func number(of text: String?) -> Int? {
        guard let text else { return nil }
        if let number = numbers[text] { return number }
        numbers[text] = texts.count
        texts.append(text)
        // A quote takes two bytes, a control character or < six.
        bytes += 3 + text.utf8.reduce(0) { $0 + ($1 < 0x20 || $1 == UInt8(ascii: "<") || $1 >= 0x80 ? 6 : 2) }
        return texts.count - 1
    }
}
