import FoundationEssentials
package import JobQueue
import Terminal

/// An unreadable line of a list.
package struct BadLine: Error {
    package let line: Int
    package let message: String

    package init(line: Int, message: String) { (self.line, self.message) = (line, message) }
}

/// One URL of a list with its line's settings.
package struct ListItem: Sendable {
    /// Maximum bytes of `meta`.
    static let longestMeta = 4_096

    package var url: String
    /// Its list and line number, from 1; nil and 0 for an operand.
    package var list: String?
    package var line = 0
    package var settings = EnqueueRequest.Settings()
    /// A JSON object.
    package var meta: String?

    /// `urls.txt:3: ` before a message; empty for an operand.
    package var place: String {
        guard let list else { return "" }
        return "\(list == "-" ? "standard input" : PrintableText.text(list)):\(line): "
    }

    package init(url: String, line: Int = 0) {
        self.url = url
        self.line = line
    }

    /// - Parameter given: `meta`, unless it is a text.
    /// - Throws: `BadLine` for a missing URL and a setting out of range.
    init(_ fields: [ListColumn: String], meta given: [String: MetaValue]? = nil, line: Int) throws(BadLine) {
        func bad(_ message: String) -> BadLine { BadLine(line: line, message: message) }
        guard let url = fields[.url], !url.isEmpty else { throw bad("no url") }
        self.init(url: url, line: line)
        settings.pipeline = fields[.pipeline].nonEmpty
        if let text = fields[.priority].nonEmpty {
            guard let priority = Int(text), (0...9).contains(priority) else {
                throw bad("the priority '\(text)' is not 0 to 9")
            }
            settings.priority = priority
        }
        if let text = fields[.at].nonEmpty {
            guard let start = EnqueueRequest.Start(spelling: text) else {
                throw bad("'\(text)' is neither a time such as 2026-11-21T18:00:00Z nor a delay such as +10m")
            }
            settings.start = start
        }
        var object = given ?? [:]
        if given != nil {
            meta = try Self.text(of: object, line)
        } else if let text = fields[.meta].nonEmpty {
            guard let value = try? JSONDecoder().decode([String: MetaValue].self, from: Data(text.utf8)) else {
                throw bad("meta is not a JSON object")
            }
            object = value
            meta = text
        }
        if let name = fields[.name].nonEmpty, object["name"] == nil {
            object["name"] = .string(name)
            meta = try Self.text(of: object, line)
        }
        guard (meta?.utf8.count ?? 0) <= Self.longestMeta else {
            throw bad("meta is longer than \(Self.longestMeta) bytes")
        }
    }

    /// A JSON object as one line.
    private static func text(of object: [String: MetaValue], _ line: Int) throws(BadLine) -> String {
        guard let text = try? JSONLine.text(object) else {
            throw BadLine(line: line, message: "meta is not a JSON object")
        }
        return text
    }
}

extension Optional<String> {
    /// Without surrounding blanks; nil if empty.
    fileprivate var nonEmpty: String? {
        let text = self?.trimmed(of: \.isBlank)
        return text?.isEmpty == false ? text : nil
    }
}

extension EnqueueRequest.Start {
    /// An RFC 3339 time, such as `2026-11-21T18:00:00Z`, or a delay such as `+10m`; nil if invalid.
    package init?(spelling text: String) {
        let form = /([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)/
        if text.hasPrefix("+"), let delay = Duration(spelling: String(text.dropFirst())) {
            self = .after(delay)
        } else if let local = text.wholeMatch(of: form).map({ "\($0.1)Z" }),
            // 30 February would be read as 2 March, and 25:61:00 as a time of the next day.
            (try? Date(local, strategy: .iso8601))?.formatted(.iso8601) == local,
            let date = try? Date(text, strategy: .iso8601)
        {
            self = .at(secondsSince1970: date.timeIntervalSince1970)
        } else {
            return nil
        }
    }
}

/// A JSON value whose numbers keep their digits: `meta` may contain identifiers that no `Double` holds.
enum MetaValue: Codable, Sendable {
    case null
    case bool(Bool)
    /// Up to 38 digits.
    case decimal(Decimal)
    case number(Double)
    case string(String)
    case array([MetaValue])
    case object([String: MetaValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        // The most frequent type first: each refusal creates an error.
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
