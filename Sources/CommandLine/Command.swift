package import Terminal

/// A command's option, for the parser and the help.
package struct Option: Sendable {
    package enum Kind: Sendable, Equatable {
        case flag
        /// One value with this help placeholder; the last one counts.
        case value(String)
        /// Any number of values, in order; comma-separated in the variable.
        case values(String)
        /// Any number of values that may contain commas, in order; the variable is a single value.
        case texts(String)

        package var hasCommas: Bool { if case .texts = self { true } else { false } }
    }

    /// The long name without dashes; `some-name` is also the setting LARDER_SOME_NAME.
    package let name: String
    package let short: Character?
    package let kind: Kind
    package let help: String

    package init(_ name: String, short: Character? = nil, _ help: String) { self.init(name, short: short, .flag, help) }

    package init(_ name: String, short: Character? = nil, _ kind: Kind, _ help: String) {
        self.name = name
        self.short = short
        self.kind = kind
        self.help = help
    }

    /// Whether all values count, not only the last.
    package var isRepeatable: Bool {
        switch kind {
        case .flag, .value: false
        case .values, .texts: true
        }
    }

    /// The value's placeholder, such as `FILE`; nil for a flag.
    package var placeholder: String? {
        switch kind {
        case .flag: nil
        case .value(let value), .values(let value), .texts(let value): value
        }
    }

    package var variable: String { "LARDER_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
}

/// A program's command, for the parser, the help and the man pages.
package struct Command: Sendable {
    /// Such as `["db", "start"]`.
    package let words: [String]
    /// Alternative words, such as `cache ls`, each with the option that they imply; empty for none.
    package let also: KeyValuePairs<String, String>
    /// The operands in the usage line; empty for none.
    package let operands: String
    /// One sentence without a full stop.
    package let summary: String
    package let discussion: String
    package let examples: [String]
    /// The options in addition to the common ones.
    package let options: [Option]
    package let run: @Sendable (Arguments) async throws -> ExitCode

    package init(
        words: [String], also: KeyValuePairs<String, String> = [:], operands: String, summary: String,
        discussion: String = "", examples: [String] = [], options: [Option],
        run: @escaping @Sendable (Arguments) async throws -> ExitCode
    ) {
        self.words = words
        self.also = also
        self.operands = operands
        self.summary = summary
        self.discussion = discussion
        self.examples = examples
        self.options = options
        self.run = run
    }

    package var name: String { words.joined(separator: " ") }

    /// The command's words and its alternatives, each with the implied options.
    package var spellings: [(words: [String], implied: [String])] {
        [(words, [])] + also.map { ($0.key.split(separator: " ").map(String.init), $0.value.isEmpty ? [] : [$0.value]) }
    }
}
