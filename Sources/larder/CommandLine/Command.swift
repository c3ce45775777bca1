/// One option of a command, as help, parser, man page and completions all see it.
struct Option: Sendable {
    /// What an option takes.
    enum Kind: Sendable, Equatable {
        /// Nothing: it is there or not.
        case flag
        /// One value, called so in the help; given twice, the last one counts.
        case value(String)
        /// Any number of values, in order; its variable has them separated by commas.
        case values(String)
        /// Any number of values that may have commas themselves, in order; its variable is one value.
        case texts(String)

        /// Whether a value may have commas, so that they separate nothing.
        var hasCommas: Bool { if case .texts = self { true } else { false } }
    }

    /// The long name without dashes; `some-name` is also the setting LARDER_SOME_NAME.
    let name: String
    let short: Character?
    let kind: Kind
    let help: String

    /// A flag.
    init(_ name: String, short: Character? = nil, _ help: String) { self.init(name, short: short, .flag, help) }

    init(_ name: String, short: Character? = nil, _ kind: Kind, _ help: String) {
        self.name = name
        self.short = short
        self.kind = kind
        self.help = help
    }

    /// Whether all its values count, not only the last.
    var isRepeatable: Bool {
        switch kind {
        case .flag, .value: false
        case .values, .texts: true
        }
    }

    /// The environment variable that stands for this option.
    var variable: String { "LARDER_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
}

/// One command of the program.
struct Command: Sendable {
    /// The words that call it: `["db", "start"]`.
    let words: [String]
    /// How its operands are written in the usage line, empty when it takes none.
    let operands: String
    /// One sentence without full stop.
    let summary: String
    /// Further text of its help page.
    var discussion = ""
    /// Command lines as one would type them.
    var examples: [String] = []
    /// Its options besides the common ones.
    let options: [Option]
    /// Does the work; the value returned is the exit code.
    let run: @Sendable (Arguments) async throws -> ExitCode

    var name: String { words.joined(separator: " ") }
}
