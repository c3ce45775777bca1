import CommandLine
import Terminal

/// The two limits of `queue limit` and `origin limit`, over all workers.
enum QueueLimitOptions {
    static let options = [
        Option("max-running", .value("N"), "jobs that run at once, at least 1; no limit by default"),
        Option("max-rate", .value("R"), "jobs per second, 0.001 to 1000000; no limit by default"),
    ]

    static func values(_ arguments: Arguments) throws(CommandError) -> (running: Int?, rate: Double?) {
        let running = try arguments.number("max-running", in: 1...Int(Int32.max))
        let rate = try arguments.value("max-rate").map { (text) throws(CommandError) in
            guard let rate = Double(text), (0.001...1_000_000).contains(rate) else {
                throw .usage("\(arguments.label("max-rate")): '\(text)' is not a number from 0.001 to 1000000")
            }
            return rate
        }
        return (running, rate)
    }
}
