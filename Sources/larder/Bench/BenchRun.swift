import Measuring

/// What surrounds the rounds of every measurement: no figures of a debug build are kept, all are printed, some saved.
struct BenchRun {
    /// The options of every measurement in rounds.
    static func options(_ name: String) -> [Option] {
        [
            Option("rounds", .value("N"), "rounds that count, after one warm-up, default 5"),
            Option("save", .value("DIR"), "write DIR/<date>-\(name).json and the table of all results, DIR/README.md"),
        ]
    }

    let rounds: Int
    private let directory: String?
    private let isJSON: Bool
    private let load = MachineFacts.load

    /// Throws `CommandError.usage` for numbers out of range, and where a debug build is asked to save.
    init(_ arguments: Arguments) throws {
        rounds = try arguments.number("rounds", in: 1...100) ?? 5
        directory = try arguments.value("save")
        isJSON = arguments.flag("json")
        #if DEBUG
            Console.note("larder: a debug build: these figures mean nothing")
            guard directory == nil else { throw CommandError.usage("--save needs a release build") }
        #endif
    }

    /// Prints what was measured and, where asked, saves it; `facts` add to those of the machine.
    func report(
        _ measurements: [MeasuredFigure], of name: String, input: String, facts: [String: String] = [:]
    ) async throws {
        for measurement in measurements {
            Console.line(isJSON ? try measurement.jsonLine : measurement.textLine)
        }
        guard let directory else { return }
        let machine = await MachineFacts.gathered(load: load).merging(facts) { $1 }
        let result = SavedResult(
            benchmark: name, rounds: rounds, input: input, machine: machine, measurements: measurements)
        try result.write(to: directory)
        try ResultTable.rewrite(in: directory)
    }
}
