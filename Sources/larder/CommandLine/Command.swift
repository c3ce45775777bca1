/// One option of a command, used by the parser and by the help.
struct Option: Sendable {
    enum Kind: Sendable, Equatable {
        case flag
        /// One value with this placeholder in the help; the last one given counts.
        case value(String)
        /// Any number of values, in order; in the variable they are separated by commas.
        case values(String)
        /// Any number of values that may contain commas, in order; the variable is one value.
        case texts(String)

        var hasCommas: Bool { if case .texts = self { true } else { false } }
    }

    /// The long name without dashes; `some-name` is also the setting LARDER_SOME_NAME.
    let name: String
    let short: Character?
    let kind: Kind
    let help: String

    init(_ name: String, short: Character? = nil, _ help: String) { self.init(name, short: short, .flag, help) }

    init(_ name: String, short: Character? = nil, _ kind: Kind, _ help: String) {
        self.name = name
        self.short = short
        self.kind = kind
        self.help = help
    }

    /// Whether all values count, not only the last.
    var isRepeatable: Bool {
        switch kind {
        case .flag, .value: false
        case .values, .texts: true
        }
    }

    /// The placeholder of the value, `FILE`; nil for a flag.
    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .value(let value), .values(let value), .texts(let value): value
        }
    }

    /// The environment variable of the option.
    var variable: String { "LARDER_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 }) }
}

struct Command: Sendable {
    /// `["db", "start"]`.
    let words: [String]
    /// The operands in the usage line; empty for none.
    let operands: String
    /// One sentence without a full stop.
    let summary: String
    var discussion = ""
    var examples: [String] = []
    /// The options besides the common ones.
    let options: [Option]
    let run: @Sendable (Arguments) async throws -> ExitCode

    var name: String { words.joined(separator: " ") }
}
