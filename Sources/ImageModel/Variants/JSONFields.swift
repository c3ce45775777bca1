/// The fields of one JSON object. Each is read once; `finish` refuses unread ones.
package struct JSONFields {
    package let path: String
    private var fields: [String: JSONValue]
    private var known: [String] = []

    package init(_ value: JSONValue, path: String) throws(VariantError) {
        guard case .object(let fields) = value else { throw VariantError(path: path, message: "must be an object") }
        self.fields = fields
        self.path = path
    }

    /// An error at a field, or at the object itself.
    package func refusal(_ field: String? = nil, _ message: String) -> VariantError {
        VariantError(path: field.map { "\(path).\($0)" } ?? path, message: message)
    }

    /// The raw value; nil if absent.
    package mutating func take(_ field: String) -> JSONValue? {
        known.append(field)
        return fields.removeValue(forKey: field)
    }

    /// An error for a required field, naming a probably misspelled field.
    private func missing(_ field: String) -> VariantError {
        guard let near = fields.keys.first(where: { Self.resemble($0, field) }) else {
            return refusal(field, "is missing")
        }
        return unknown(near)
    }

    private func unknown(_ field: String) -> VariantError {
        let near = known.first { Self.resemble($0, field) }
        return refusal(field, "is not a known field" + (near.map { "; did you mean \"\($0)\"?" } ?? ""))
    }

    /// Whether two names of at least 3 letters differ by one letter or two swapped neighbours.
    private static func resemble(_ one: String, _ other: String) -> Bool {
        let (a, b) = (Array(one.utf8), Array(other.utf8))
        guard min(a.count, b.count) >= 3 else { return false }
        let start = zip(a, b).prefix { $0 == $1 }.count
        let end = min(zip(a.reversed(), b.reversed()).prefix { $0 == $1 }.count, min(a.count, b.count) - start)
        let (left, right) = (a[start..<a.count - end], b[start..<b.count - end])
        return max(left.count, right.count) <= 1 || left.count == 2 && left.elementsEqual(right.reversed())
    }

    package mutating func number(_ field: String) throws(VariantError) -> Double? {
        try read(field, "must be a number") { if case .number(let value) = $0 { value } else { nil } }
    }

    package mutating func requiredNumber(_ field: String) throws(VariantError) -> Double {
        guard let value = try number(field) else { throw missing(field) }
        return value
    }

    /// Nil if absent.
    package mutating func number(_ field: String, in range: ClosedRange<Double>) throws(VariantError) -> Double? {
        guard let value = try number(field) else { return nil }
        guard range.contains(value) else {
            let (low, high) = (JSONValue.number(range.lowerBound), JSONValue.number(range.upperBound))
            throw refusal(field, "must be from \(low.canonicalText) to \(high.canonicalText)")
        }
        return value
    }

    package mutating func requiredNumber(_ field: String, in range: ClosedRange<Double>) throws(VariantError) -> Double
    {
        guard let value = try number(field, in: range) else { throw missing(field) }
        return value
    }

    /// A length greater than 0.
    package mutating func requiredSize(_ field: String) throws(VariantError) -> Double {
        let value = try requiredNumber(field)
        guard value > 0 else { throw refusal(field, "must be greater than 0") }
        return value
    }

    package mutating func integer(_ field: String, in range: ClosedRange<Int>) throws(VariantError) -> Int? {
        guard let value = try number(field) else { return nil }
        guard let whole = Int(exactly: value), range.contains(whole) else {
            throw refusal(field, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    package mutating func bool(_ field: String, default defaultValue: Bool) throws(VariantError) -> Bool {
        try bool(field) ?? defaultValue
    }

    package mutating func bool(_ field: String) throws(VariantError) -> Bool? {
        try read(field, "must be true or false") { if case .bool(let value) = $0 { value } else { nil } }
    }

    package mutating func string(_ field: String) throws(VariantError) -> String? {
        try read(field, "must be a string") { if case .string(let value) = $0 { value } else { nil } }
    }

    /// The enumeration case named by a string; nil if absent.
    package mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ field: String
    ) throws(VariantError) -> Choice? where Choice.RawValue == String {
        guard let text = try string(field) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw refusal(field, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    private mutating func read<Value>(
        _ field: String, _ message: String, _ convert: (JSONValue) -> Value?
    ) throws(VariantError) -> Value? {
        guard let raw = take(field) else { return nil }
        guard let value = convert(raw) else { throw refusal(field, message) }
        return value
    }

    package mutating func requiredName(_ field: String) throws(VariantError) -> String {
        guard let value = try string(field) else { throw missing(field) }
        guard !value.isEmpty else { throw refusal(field, "must not be empty") }
        // Postgres cannot store NUL.
        guard !value.utf8.contains(0) else { throw refusal(field, "must not contain NUL") }
        return value
    }

    package mutating func color(_ field: String) throws(VariantError) -> Color? {
        guard let text = try string(field) else { return nil }
        guard let color = Color(text) else {
            throw refusal(field, "must be # and eight hexadecimal digits, alpha red green blue")
        }
        return color
    }

    package func finish() throws(VariantError) {
        let unknown = fields.keys.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        if let unknown { throw self.unknown(unknown) }
    }
}

extension JSONValue {
    /// A list's elements, each converted with its path; refuses a list longer than `limit` before reading it.
    func list<Element>(
        path: String, limit: Int, of what: String, _ element: (JSONValue, String) throws(VariantError) -> Element
    ) throws(VariantError) -> [Element] {
        guard case .array(let values) = self else { throw VariantError(path: path, message: "must be a list") }
        guard values.count <= limit else {
            throw VariantError(path: path, message: "has \(values.count) \(what); the limit is \(limit)")
        }
        var elements: [Element] = []
        for (index, value) in values.enumerated() { elements.append(try element(value, "\(path)[\(index)]")) }
        return elements
    }
}

/// Why a variant or pipeline is refused: a position in its JSON and a message.
public struct VariantError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The JSON path, such as `$.variants[1].transform[0].width`.
    public let path: String
    /// Such as `must be greater than 0`.
    public let message: String

    package init(path: String, message: String) {
        self.path = path
        self.message = message
    }

    /// Such as `$.variants[1].name: must not be empty`.
    public var description: String { "\(path): \(message)" }
}
