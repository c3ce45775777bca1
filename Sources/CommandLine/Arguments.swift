package import Terminal

/// A command's options and operands, completed by environment variables.
package struct Arguments: Sendable {
    private let flags: Set<String>
    private let values: [String: [[UInt8]]]
    package let environment: [String: String]
    private let options: [Option]
    /// Bytes, because a URL need not be UTF-8.
    package let operandBytes: [[UInt8]]
    /// Used if an option and its variable are missing.
    package var file: ConfigurationFile?

    /// - Throws: wrong usage for an unknown option, and a missing or empty value.
    package init(_ words: [[UInt8]], options: [Option], environment: [String: String]) throws(CommandError) {
        let result = try OptionParser(options: options).parse(words)
        // From a script's unset variable: an empty path would mean the current directory.
        for option in options where result.values[option.name, default: []].contains(where: \.isEmpty) {
            throw .usage("--\(option.name): the value is empty")
        }
        flags = result.flags
        values = result.values
        operandBytes = result.operands
        self.options = options
        self.environment = environment
    }

    /// An environment variable, else its setting in the configuration file; nil if unset or empty.
    package func variable(_ name: String) -> String? {
        if let value = environment[name], !value.isEmpty { return value }
        return file?.values[name]?.text
    }

    /// An option's name in errors: `--slots`, its variable for an environment value, or `larder.toml:12: limits.slots`
    /// for a file's.
    package func label(_ name: String) -> String {
        guard !isGiven(name), let option = options.first(where: { $0.name == name }) else { return "--\(name)" }
        guard environment[option.variable] ?? "" == "" else { return option.variable }
        guard let value = file?.values[option.variable] else { return "--\(name)" }
        return "\(value.place): \(value.setting)"
    }

    /// Whether a variable sets a flag: `1`, `true` or `yes`.
    package static func isSet(_ variable: String, in environment: [String: String]) -> Bool {
        isTrue(environment[variable])
    }

    private static func isTrue(_ value: String?) -> Bool {
        ["1", "true", "yes"].contains(value?.lowercased() ?? "")
    }

    /// Whether a flag is set, by option or variable.
    package func flag(_ name: String) -> Bool {
        if flags.contains(name) { return true }
        guard let option = options.first(where: { $0.name == name }) else { return false }
        return Self.isTrue(variable(option.variable))
    }

    package func has(_ name: String) -> Bool { options.contains { $0.name == name } }

    /// Whether an option is given on the command line, ignoring its variable.
    package func isGiven(_ name: String) -> Bool { flags.contains(name) || values[name] != nil }

    /// The given options in help order; repairs a value that is not UTF-8. Flags have nil.
    package var given: [(name: String, value: String?)] {
        options.flatMap { option -> [(name: String, value: String?)] in
            if flags.contains(option.name) { return [(option.name, nil)] }
            let all = values[option.name] ?? []
            return (option.isRepeatable ? all[...] : all.suffix(1)).map {
                (option.name, String(decoding: $0, as: UTF8.self))
            }
        }
    }

    /// How often an option with a value is given on the command line.
    package func count(of name: String) -> Int { values[name]?.count ?? 0 }

    /// - Throws: wrong usage for an operand that is empty or not UTF-8.
    package func operands(acceptingEmpty: Bool = false) throws(CommandError) -> [String] {
        try operandBytes.map { (bytes) throws(CommandError) in
            guard acceptingEmpty || !bytes.isEmpty else { throw .usage("an argument is empty") }
            return try text(bytes, of: "an argument")
        }
    }

    /// The operands of `command`.
    ///
    /// - Throws: wrong usage, naming `placeholder`, if there are none.
    package func operands(
        _ placeholder: String, of command: String, acceptingEmpty: Bool = false
    ) throws(CommandError) -> [String] {
        let operands = try operands(acceptingEmpty: acceptingEmpty)
        guard !operands.isEmpty else { throw .usage("\(command): at least one \(placeholder) is required") }
        return operands
    }

    /// The only operand of `command`.
    ///
    /// - Throws: wrong usage, naming `placeholder`, for no operand, an empty one, or several.
    package func operand(_ placeholder: String, of command: String) throws(CommandError) -> String {
        let operands = try operands(acceptingEmpty: true)
        guard operands.count == 1, !operands[0].isEmpty else {
            throw .usage("\(command): exactly one \(placeholder) is required")
        }
        return operands[0]
    }

    /// An option's value, by option or variable.
    package func value(_ name: String) throws(CommandError) -> String? {
        if let bytes = values[name]?.last { return try text(bytes, of: "--\(name)") }
        return options.first { $0.name == name }.flatMap { variable($0.variable) }
    }

    /// The value of `--output`; `-` is standard output.
    ///
    /// - Throws: wrong usage for standard output with `--json`, which prints there.
    package func output(of command: String) throws(CommandError) -> String? {
        let output = try value("output")
        if output == OutputFile.standard, flag("json") {
            throw .usage("\(command): --output - and --json both write to standard output")
        }
        return output
    }

    /// An option's value, which must be one of `words`.
    package func choice(_ name: String, of words: [String]) throws(CommandError) -> String? {
        guard let value = try value(name) else { return nil }
        guard words.contains(value) else {
            throw .usage("\(label(name)): '\(value)' is not one of \(words.joined(separator: ", "))")
        }
        return value
    }

    /// All values of a repeatable option. A variable has comma-separated values, or a single value if values may
    /// contain commas.
    package func list(_ name: String) throws(CommandError) -> [String] {
        if let given = values[name] {
            return try given.map { (bytes) throws(CommandError) in try text(bytes, of: "--\(name)") }
        }
        guard let option = options.first(where: { $0.name == name }), let line = variable(option.variable) else {
            return []
        }
        return option.kind.hasCommas ? [line] : line.split(separator: ",").map(String.init)
    }

    package func number(_ name: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = try value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                "\(label(name)): '\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A number with `ms`, `s`, `m`, `h` or `d`; seconds without a unit.
    package func duration(_ name: String) throws(CommandError) -> Duration? {
        guard let text = try value(name) else { return nil }
        guard let duration = Duration(spelling: text) else {
            throw .usage(
                "\(label(name)): '\(text)' is not a duration such as 500ms, 30s, 5m, 2h or 1d, or 30 for seconds")
        }
        return duration
    }

    /// A duration within `range`, called `text` in the error.
    package func duration(
        _ name: String, in range: ClosedRange<Duration>, _ text: String
    ) throws(CommandError) -> Duration? {
        guard let duration = try duration(name) else { return nil }
        guard range.contains(duration) else {
            throw .usage("\(label(name)): '\(try value(name) ?? "")' is not a duration of \(text)")
        }
        return duration
    }

    /// Bytes: a whole number, optionally with `KiB`, `MiB` or `GiB`.
    package func bytes(_ name: String) throws(CommandError) -> Int? {
        guard let text = try value(name) else { return nil }
        guard let bytes = ByteCount(spelling: text)?.bytes else {
            throw .usage("\(label(name)): '\(text)' is not a size such as 800000, 512KiB or 32MiB")
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
