import CommandLine
import Terminal

/// The two limits of `queue set` and `origin set`, over all workers. They are set together.
enum QueueLimitOptions {
    static let options = [
        Option("max-running", .value("N"), "jobs that run at once, at least 1; none removes the limit"),
        Option("max-rate", .value("R"), "jobs per second, 0.001 to 1000000; none removes the limit"),
    ]

    /// Both limits, nil for no limit; nil when neither is given.
    static func values(_ arguments: Arguments) throws(CommandError) -> (running: Int?, rate: Double?)? {
        let texts = (running: try arguments.value("max-running"), rate: try arguments.value("max-rate"))
        guard texts != (nil, nil) else { return nil }
        let running = texts.running == "none" ? nil : try arguments.number("max-running", in: 1...Int(Int32.max))
        let rate = try (texts.rate == "none" ? nil : texts.rate).map { (text) throws(CommandError) in
            guard let rate = Double(text), (0.001...1_000_000).contains(rate) else {
                throw .usage("\(arguments.label("max-rate")): '\(text)' is not a number from 0.001 to 1000000")
            }
            return rate
        }
        return (running, rate)
    }
}
