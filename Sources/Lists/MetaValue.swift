import FoundationEssentials

/// A JSON value whose numbers keep their digits: `meta` may have identifiers that no `Double` holds.
enum MetaValue: Codable, Sendable {
    case null
    case bool(Bool)
    /// Of up to 38 digits.
    case decimal(Decimal)
    case number(Double)
    case string(String)
    case array([MetaValue])
    case object([String: MetaValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        // The most frequent type first: each refusal makes an error.
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let decimal = try? value.decode(Decimal.self) {
            self = .decimal(decimal)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let values = try? value.decode([MetaValue].self) {
            self = .array(values)
        } else {
            self = .object(try value.decode([String: MetaValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .decimal(let decimal): try value.encode(decimal)
        case .number(let number): try value.encode(number)
        case .string(let text): try value.encode(text)
        case .array(let values): try value.encode(values)
        case .object(let fields): try value.encode(fields)
        }
    }
}
