package import ImageModel
package import JobQueue
import Terminal

/// The line that `run --json` prints when a job ends.
package struct JobLine: Encodable {
    private var json: JSONObject

    package init(url: String, outcome: String, files: [StoredFile], error: FailureReason?) {
        var original: JSONObject?
        if let file = files.first(where: { $0.name == nil && $0.path != nil }) {
            original = ["key": file.key, "path": file.path]
            if let isUnchanged = file.unchanged { original?["unchanged"] = isUnchanged }
        }
        let variants = files.filter { $0.name != nil }.map { file -> JSONObject in
            ["name": file.name, "key": file.key, "path": file.path, "error": file.error]
        }
        json = [
            "url": ShownURL.text(url), "outcome": outcome, "original": original, "variants": variants, "error": error,
        ]
    }

    package init(_ record: StoredRecord) {
        self.init(url: record.url, outcome: record.outcome.rawValue, files: record.stored, error: record.error)
        if let meta = ProducerMeta(record.meta) { json["meta"] = meta }
    }

    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
