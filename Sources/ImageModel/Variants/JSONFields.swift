/// The fields of one JSON object. Each is read once; `finish` refuses those that were not read.
package struct JSONFields {
    package let path: String
    private var fields: [String: JSONValue]

    package init(_ value: JSONValue, path: String) throws(VariantError) {
        guard case .object(let fields) = value else { throw VariantError(path: path, message: "must be an object") }
        self.fields = fields
        self.path = path
    }

    /// An error at a field, or at the object itself.
    package func refusal(_ field: String? = nil, _ message: String) -> VariantError {
        VariantError(path: field.map { "\(path).\($0)" } ?? path, message: message)
    }

    /// The raw value; nil where the field is absent.
    package mutating func take(_ field: String) -> JSONValue? { fields.removeValue(forKey: field) }

    package mutating func number(_ field: String) throws(VariantError) -> Double? {
        try read(field, "must be a number") { if case .number(let value) = $0 { value } else { nil } }
    }

    package mutating func requiredNumber(_ field: String) throws(VariantError) -> Double {
        guard let value = try number(field) else { throw refusal(field, "is missing") }
        return value
    }

    /// A number within a range; nil where the field is absent.
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
        guard let value = try number(field, in: range) else { throw refusal(field, "is missing") }
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

    /// The case of an enumeration that a string names; nil where the field is absent.
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

    /// A string that is present and not empty.
    package mutating func requiredName(_ field: String) throws(VariantError) -> String {
        guard let value = try string(field) else { throw refusal(field, "is missing") }
        guard !value.isEmpty else { throw refusal(field, "must not be empty") }
        // Postgres stores none.
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

    /// Refuses the fields that were not read.
    package func finish() throws(VariantError) {
        let unknown = fields.keys.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        if let unknown { throw refusal(unknown, "is not a known field") }
    }
}

extension JSONValue {
    /// The elements of a list, each converted with its path; a list longer than `limit` is refused before it is read.
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
