import ImageModel
import JobQueue

/// The images of a report as data for its script, bounded in bytes.
///
/// The script reads arrays instead of objects, and numbers instead of repeated texts, so that many thousand images fit.
struct ReportGallery {
    /// The most bytes that URLs, keys and paths may take, about 20,000 images of three variants.
    static let maxBytes = 5_000_000
    /// The most records that are read.
    private static let maxRead = 250_000

    /// The records as they are shown.
    private(set) var items: [Item] = []
    /// Whether records were left out.
    private(set) var isCut = false
    /// Pictures as `data:` URLs, by their number.
    private(set) var pictures: [String] = []
    private var bytes = 0
    private var failureBytes = 0
    private var read = 0
    private var names = NumberedTexts()
    private var formats = NumberedTexts()
    private var errors = NumberedTexts()

    /// Adds a record unless its kind has had its room; false when there is none for any.
    mutating func add(_ record: StoredRecord) -> Bool {
        let size = record.stored.reduce(record.url.utf8.count + 60) {
            $0 + $1.key.utf8.count + ($1.path?.utf8.count ?? 0) + 40
        }
        read += 1
        guard bytes + size <= Self.maxBytes, read <= Self.maxRead else {
            isCut = true
            return false
        }
        // What succeeded is shown even where nearly everything failed.
        if record.outcome != .succeeded {
            guard failureBytes + size <= Self.maxBytes / 2 else {
                isCut = true
                return true
            }
            failureBytes += size
        }
        bytes += size
        let files = record.stored.map { file in
            Item.File(
                name: names.number(of: file.name), key: file.key == record.url ? nil : file.key, path: file.path,
                format: formats.number(of: file.format), width: file.width, height: file.height, bytes: file.bytes,
                error: errors.number(of: file.error.map { Self.text($0, of: record.url) }),
                isUnchanged: file.unchanged == true)
        }
        let digest = record.stored.lazy.compactMap(\.digest).first
        items.append(
            Item(
                url: ShownURL.text(record.url), outcome: record.outcome,
                error: errors.number(of: record.error.map { Self.text($0, of: record.url) }), files: files,
                thumbHash: digest?.thumbHash,
                color: digest.map { "#" + $0.dominantColor.suffix(6) }, frames: digest?.frames ?? 1))
        return true
    }

    /// The error without the URL, so that equal errors have one text.
    private static func text(_ error: FailureReason, of url: String) -> String {
        let message = FailureLine.message(error.message, of: url)
        return FailureReason(domain: error.domain, code: error.code, message: message).text
    }

    /// Sets the picture of a file of an item.
    mutating func set(_ picture: String, ofFile file: Int, ofItem item: Int) {
        items[item].files[file].picture = pictures.count
        pictures.append(picture)
    }

    /// The markup that the script fills.
    var section: String {
        guard !items.isEmpty else { return "" }
        var note = ""
        if isCut { note = "These are \(items.count.grouped) images; larder report --files lists all. " }
        if pictures.isEmpty {
            note += "No picture is embedded: the cache does not have the files, or --thumbnails is 0."
        } else {
            note += "\(pictures.count.grouped) small pictures are embedded; other images show their placeholder."
        }
        return """
            <p class="quiet">\(note)</p>
            <noscript><p>The images need JavaScript, which this page has inside.</p></noscript>
            <div class="controls" hidden>
            <label>Search in URLs and keys<input type="search" id="search" autocomplete="off"></label>
            <label>Show<select id="filter"><option value="all">all</option><option value="0">succeeded</option>
            <option value="1">failed</option><option value="2">cancelled</option></select></label>
            <label>Order<select id="order"><option value="none">as enqueued</option><option value="url">URL</option>
            <option value="large">largest first</option><option value="small">smallest first</option></select></label>
            </div>
            <p class="quiet" id="count" role="status"></p>
            <div class="gallery" id="gallery"></div>
            <p class="actions"><button type="button" id="more" hidden>Show more</button></p>

            """
    }

    /// The data: `items` are `[url, outcome, error, files, thumbHash, colour, frames]`, outcome 0 succeeded, 1 failed, 2
    /// cancelled; files are `[name, key, path, format, width, height, bytes, picture, error, unchanged]`. Names, formats,
    /// errors and pictures are places in the arrays beside them, null for none; a key that is the URL is null.
    func json() throws -> String {
        try JSONLine.text(
            [
                "items": items, "names": names.texts, "formats": formats.texts, "errors": errors.texts,
                "pictures": pictures,
            ] as JSONObject)
    }
}

extension ReportGallery {
    /// A record of a batch as the script reads it.
    struct Item: Encodable {
        let url: String
        let outcome: JobOutcome
        let error: Int?
        var files: [File]
        let thumbHash: String?
        let color: String?
        let frames: Int

        /// A file of the record.
        struct File: Encodable {
            let name: Int?
            let key: String?
            let path: String?
            let format: Int?
            let width: Int?
            let height: Int?
            let bytes: Int?
            var picture: Int?
            let error: Int?
            let isUnchanged: Bool

            func encode(to encoder: any Encoder) throws {
                var row = encoder.unkeyedContainer()
                try row.encode(name)
                try row.encode(key)
                try row.encode(path)
                try row.encode(format)
                try row.encode(width)
                try row.encode(height)
                try row.encode(bytes)
                try row.encode(picture)
                try row.encode(error)
                try row.encode(isUnchanged)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var row = encoder.unkeyedContainer()
            try row.encode(url)
            switch outcome {
            case .succeeded: try row.encode(0)
            case .failed: try row.encode(1)
            case .cancelled: try row.encode(2)
            }
            try row.encode(error)
            try row.encode(files)
            try row.encode(thumbHash)
            try row.encode(color)
            try row.encode(frames)
        }
    }
}

/// Texts that repeat, by the order in which they first come.
private struct NumberedTexts {
    private(set) var texts: [String] = []
    private var numbers: [String: Int] = [:]

    /// The number of a text, a new one for a new text; nil for nil.
    mutating func number(of text: String?) -> Int? {
        guard let text else { return nil }
        if let number = numbers[text] { return number }
        numbers[text] = texts.count
        texts.append(text)
        return texts.count - 1
    }
}
