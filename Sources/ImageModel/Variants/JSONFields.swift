/// The fields of one JSON object, each read once, strictly: whatever is left over at the end is refused.
package struct JSONFields {
    package let path: String
    private var fields: [String: JSONValue]

    package init(_ value: JSONValue, path: String) throws(VariantError) {
        guard case .object(let fields) = value else {
            throw VariantError(path: path, message: "must be an object")
        }
        self.fields = fields
        self.path = path
    }

    /// An error at a field, or at the object itself.
    package func refusal(_ field: String? = nil, _ message: String) -> VariantError {
        VariantError(path: field.map { "\(path).\($0)" } ?? path, message: message)
    }

    /// The raw value, if given.
    package mutating func take(_ field: String) -> JSONValue? { fields.removeValue(forKey: field) }

    package mutating func number(_ field: String) throws(VariantError) -> Double? {
        switch take(field) {
        case nil: return nil
        case .number(let value): return value
        default: throw refusal(field, "must be a number")
        }
    }

    package mutating func requiredNumber(_ field: String) throws(VariantError) -> Double {
        guard let value = try number(field) else { throw refusal(field, "is missing") }
        return value
    }

    /// A length of which there must be some.
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

    package mutating func bool(_ field: String, default standard: Bool) throws(VariantError) -> Bool {
        switch take(field) {
        case nil: return standard
        case .bool(let value): return value
        default: throw refusal(field, "must be true or false")
        }
    }

    package mutating func string(_ field: String) throws(VariantError) -> String? {
        switch take(field) {
        case nil: return nil
        case .string(let value): return value
        default: throw refusal(field, "must be a string")
        }
    }

    /// A string that must be there and not be empty.
    package mutating func requiredName(_ field: String) throws(VariantError) -> String {
        guard let value = try string(field) else { throw refusal(field, "is missing") }
        guard !value.isEmpty else { throw refusal(field, "must not be empty") }
        return value
    }

    package mutating func color(_ field: String) throws(VariantError) -> Color? {
        guard let text = try string(field) else { return nil }
        guard let color = Color(text) else {
            throw refusal(field, "must be # and eight hexadecimal digits, alpha red green blue")
        }
        return color
    }

    /// Refuses what nobody asked for.
    package func finish() throws(VariantError) {
        let unknown = fields.keys.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        if let unknown { throw refusal(unknown, "is not a known field") }
    }
}
