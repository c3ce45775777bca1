package import CommandLine
import Terminal

extension Program {
    /// `larder-lab`.
    package static let lab = Program(.lab)
}

extension CommandTable {
    static let lab: CommandTable = CommandTable(
        program: "larder-lab", version: Larder.version,
        summary: "measures Larder's queue, and breaks workers, database and network under load",
        description: (
            short: "measure Larder and break it under load",
            long:
                "Measures Larder's queue, and breaks workers, database and network under load. For people who evaluate it."
        ),
        groups: [
            ("measurements", [.benchQueue, .benchFleet]), ("faults", [.chaos]),
            ("operations", [.manual(of: "larder-lab") { .lab }]),
        ],
        variables: ["LARDER_CHAOS_NAMESPACE"])
}
