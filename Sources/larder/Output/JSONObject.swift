/// A JSON object of a command's output, by field name; a field whose value is nil is null.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    private var fields: [String: (any Encodable)?]

    init(dictionaryLiteral fields: (String, (any Encodable)?)...) {
        self.fields = Dictionary(fields) { _, last in last }
    }

    subscript(name: String) -> (any Encodable)? {
        get { fields[name] ?? nil }
        set { fields[name] = .some(newValue) }
    }

    func merging(_ other: JSONObject) -> JSONObject {
        var object = self
        object.fields.merge(other.fields) { _, last in last }
        return object
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in fields {
            if let value {
                try container.encode(value, forKey: Name(stringValue: name))
            } else {
                try container.encodeNil(forKey: Name(stringValue: name))
            }
        }
    }

    /// The name of any field.
    struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}
