/// A JSON object in a command's output; nil values become null.
package struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    private var fields: [String: (any Encodable)?]

    package init(dictionaryLiteral fields: (String, (any Encodable)?)...) {
        self.fields = Dictionary(fields) { _, last in last }
    }

    package subscript(name: String) -> (any Encodable)? {
        get { fields[name] ?? nil }
        set { fields[name] = .some(newValue) }
    }

    package func merging(_ other: JSONObject) -> JSONObject {
        var object = self
        object.fields.merge(other.fields) { _, last in last }
        return object
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in fields {
            if let value {
                try container.encode(value, forKey: Name(stringValue: name))
            } else {
                try container.encodeNil(forKey: Name(stringValue: name))
            }
        }
    }

    package struct Name: CodingKey {
        package let stringValue: String
        package var intValue: Int? { nil }
        package init(stringValue: String) { self.stringValue = stringValue }
        package init?(intValue: Int) { return nil }
    }
}
