/// What a command was called with: its words, then the environment where a word is missing.
struct Arguments: Sendable {
    private let flags: Set<String>
    private let values: [String: [[UInt8]]]
    private let environment: [String: String]
    private let options: [Option]
    /// The operands as bytes: a URL in a list need not be UTF-8.
    let operandBytes: [[UInt8]]

    /// Reads `words` by the options of `command` and the common ones.
    ///
    /// - Throws: `CommandError` of wrong usage.
    init(_ words: [[UInt8]], options: [Option], environment: [String: String]) throws(CommandError) {
        let result = try OptionParser(options: options).parse(words)
        flags = result.flags
        values = result.values
        operandBytes = result.operands
        self.options = options
        self.environment = environment
    }

    /// A variable of the environment, nil when unset or empty.
    func variable(_ name: String) -> String? {
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// Whether a variable sets a flag.
    static func isSet(_ variable: String, in environment: [String: String]) -> Bool {
        ["1", "true", "yes"].contains(environment[variable]?.lowercased() ?? "")
    }

    /// Whether a flag is set, by word or by variable (`1`, `true`, `yes`).
    func flag(_ name: String) -> Bool {
        if flags.contains(name) { return true }
        guard let option = options.first(where: { $0.name == name }) else { return false }
        return Self.isSet(option.variable, in: environment)
    }

    /// Whether an option was given by word, not by variable.
    func isGiven(_ name: String) -> Bool { flags.contains(name) || values[name] != nil }

    /// The operands as text.
    ///
    /// - Throws: wrong usage for one that is not UTF-8.
    func operands() throws(CommandError) -> [String] {
        try operandBytes.map { (bytes) throws(CommandError) in try text(bytes, of: "an argument") }
    }

    /// The value of an option, by word or by variable.
    func value(_ name: String) throws(CommandError) -> String? {
        if let bytes = values[name]?.last { return try text(bytes, of: "--\(name)") }
        return options.first { $0.name == name }.flatMap { variable($0.variable) }
    }

    /// All values of a repeatable option. The variable's are separated by commas, unless the option's values may have
    /// some themselves: then the variable is one value.
    func list(_ name: String) throws(CommandError) -> [String] {
        if let given = values[name] {
            return try given.map { (bytes) throws(CommandError) in try text(bytes, of: "--\(name)") }
        }
        guard let option = options.first(where: { $0.name == name }), let line = variable(option.variable) else {
            return []
        }
        return option.kind.hasCommas ? [line] : line.split(separator: ",").map(String.init)
    }

    /// A whole number within `range`.
    func number(_ name: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = try value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage("--\(name): '\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A span of time: a number with `ms`, `s`, `m`, `h` or `d`; seconds without.
    func duration(_ name: String) throws(CommandError) -> Duration? {
        guard let text = try value(name) else { return nil }
        guard let duration = Duration(spelling: text) else {
            throw .usage("--\(name): '\(text)' is not a duration such as 500ms, 30s, 5m, 2h or 1d, or 30 for seconds")
        }
        return duration
    }

    /// A count of bytes: a whole number, with `KiB`, `MiB`, `GiB` if wanted.
    func bytes(_ name: String) throws(CommandError) -> Int? {
        guard let text = try value(name) else { return nil }
        guard let bytes = ByteCount(spelling: text)?.bytes else {
            throw .usage("--\(name): '\(text)' is not a size such as 800000, 512KiB or 32MiB")
        }
        return bytes
    }

    private func text(_ bytes: [UInt8], of what: String) throws(CommandError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .usage("\(what) is not valid UTF-8: '\(String(decoding: bytes, as: UTF8.self))'")
        }
        return text
    }
}
