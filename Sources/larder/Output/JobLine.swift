import ImageModel
import JobQueue

/// One job as `run --json` prints it when it ends.
struct JobLine: Encodable {
    private let url: String
    private let outcome: String
    private let files: [StoredFile]
    private let error: FailureReason?

    init(url: String, outcome: String, files: [StoredFile], error: FailureReason?) {
        self.url = ShownURL.text(url)
        self.outcome = outcome
        self.files = files
        self.error = error
    }

    init(_ record: StoredRecord) {
        self.init(url: record.url, outcome: record.outcome.rawValue, files: record.stored, error: record.error)
    }

    private enum Keys: CodingKey { case url, outcome, original, variants, error, key, path, name, unchanged }

    func encode(to encoder: any Encoder) throws {
        var line = encoder.container(keyedBy: Keys.self)
        try line.encode(url, forKey: .url)
        try line.encode(outcome, forKey: .outcome)
        if let original = files.first(where: { $0.name == nil && $0.path != nil }) {
            var object = line.nestedContainer(keyedBy: Keys.self, forKey: .original)
            try object.encode(original.key, forKey: .key)
            try object.encode(original.path, forKey: .path)
            try object.encodeIfPresent(original.unchanged, forKey: .unchanged)
        } else {
            try line.encodeNil(forKey: .original)
        }
        var variants = line.nestedUnkeyedContainer(forKey: .variants)
        for file in files where file.name != nil {
            var object = variants.nestedContainer(keyedBy: Keys.self)
            try object.encode(file.name, forKey: .name)
            try object.encode(file.key, forKey: .key)
            try object.encode(file.path, forKey: .path)
            try object.encode(file.error, forKey: .error)
        }
        try line.encode(error, forKey: .error)
    }
}
