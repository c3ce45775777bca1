import FoundationEssentials
package import ImageModel
package import JobQueue
import Terminal

/// The line of `run --json` for an ended job.
package struct JobLine: Encodable {
    private var json: JSONObject

    /// - Parameter root: the cache root; adds each file's format and absolute path.
    package init(url: String, outcome: String, files: [StoredFile], error: FailureReason?, below root: String? = nil) {
        func addPlace(of file: StoredFile, to line: inout JSONObject) {
            guard let root else { return }
            line["format"] = file.format
            line["absolutePath"] = file.path.map { "\(root)/\($0)" }
        }
        var original: JSONObject?
        if let file = files.first(where: { $0.name == nil && $0.path != nil }) {
            var line: JSONObject = ["key": file.key, "path": file.path]
            if let isUnchanged = file.unchanged { line["unchanged"] = isUnchanged }
            addPlace(of: file, to: &line)
            original = line
        }
        let variants = files.filter { $0.name != nil }.map { file -> JSONObject in
            var line: JSONObject = ["name": file.name, "key": file.key, "path": file.path, "error": file.error]
            addPlace(of: file, to: &line)
            return line
        }
        json = [
            "url": ShownURL.text(url), "outcome": outcome, "original": original, "variants": variants, "error": error,
        ]
    }

    package init(_ record: StoredRecord, below root: String? = nil) {
        self.init(
            url: record.url, outcome: record.outcome.rawValue, files: record.stored, error: record.error, below: root)
        if let meta = ProducerMeta(record.meta) { json["meta"] = meta }
    }

    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// The producer's JSON object for a URL, as an output field.
struct ProducerMeta: Encodable {
    private let value: JSONValue

    init?(_ text: String?) {
        guard let text, let value = try? JSONValue.parse(Array(text.utf8)) else { return nil }
        self.value = value
    }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension FailureReason {
    /// `the URL is empty`; with `-v` also the code, `the URL is empty (SDWebImageErrorDomain 1000)`.
    package var text: String { Console.showsCodes ? "\(message) (\(domain) \(code))" : message }
}

package enum FailureLine {
    /// The URL, unless the message begins with it, then the message, with `-v` also domain and code. Long URLs are cut.
    package static func text(_ url: String, _ error: FailureReason) -> String {
        let logged = LoggedURL.text(url)
        guard error.message.hasPrefix(logged) else { return "\(cut(ShownURL.masked(url))): \(error.text)" }
        return cut(logged) + error.text.dropFirst(logged.count)
    }

    /// The first 200 characters; `…` replaces the rest.
    package static func cut(_ text: String) -> String {
        let start = text.prefix(200)
        return start.endIndex == text.endIndex ? text : start + "…"
    }

    /// A failure's message without a leading URL.
    package static func message(_ message: String, of url: String) -> String {
        let prefix = LoggedURL.text(url) + ": "
        return message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message
    }
}
