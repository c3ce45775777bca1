private import FoundationEssentials

/// A JSON value that keeps types apart: no number becomes a boolean, and -0.0 keeps its sign.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses UTF-8 text of at most 1 MiB, above the size of any pipeline within its limits.
    package static func parse(_ text: [UInt8]) throws(VariantError) -> JSONValue {
        guard text.count <= 1 << 20 else { throw VariantError(path: "$", message: "is longer than 1 MiB") }
        do {
            return try JSONDecoder().decode(JSONValue.self, from: Data(text))
        } catch {
            throw VariantError(path: "$", message: "is not valid JSON")
        }
    }

    /// A unique text: fields in byte order of their names, no spaces, numbers in their shortest form.
    package var canonicalText: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): Self.canonicalNumber(value)
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.canonicalText).joined(separator: ",") + "]"
        case .object(let fields):
            "{"
                + fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                .map { "\(Self.quoted($0.key)):\($0.value.canonicalText)" }.joined(separator: ",") + "}"
        }
    }

    private static func canonicalNumber(_ value: Double) -> String {
        let isPlain = value == value.rounded() && abs(value) < 9e15 && !(value == 0 && value.sign == .minus)
        return isPlain ? String(Int64(value)) : "\(value)"
    }

    private static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        if let fields = try? decoder.container(keyedBy: FieldName.self) {
            var object: [String: JSONValue] = [:]
            for key in fields.allKeys { object[key.stringValue] = try fields.decode(JSONValue.self, forKey: key) }
            self = .object(object)
        } else if var list = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !list.isAtEnd { values.append(try list.decode(JSONValue.self)) }
            self = .array(values)
        } else {
            let single = try decoder.singleValueContainer()
            if single.decodeNil() {
                self = .null
            } else if let value = try? single.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? single.decode(String.self) {
                self = .string(value)
            } else {
                self = .number(try single.decode(Double.self))
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let fields):
            var container = encoder.container(keyedBy: FieldName.self)
            for (name, value) in fields { try container.encode(value, forKey: FieldName(stringValue: name)) }
        case .array(let values): try values.encode(to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try value.encode(to: encoder)
        case .number(let value): try value.encode(to: encoder)
        case .string(let value): try value.encode(to: encoder)
        }
    }

    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}
