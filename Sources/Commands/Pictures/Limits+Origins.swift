import CommandLine
import Downloader
import Terminal

/// The options that limit the load on origins.
extension Limits {
    static let originOptions =
        [
            Option("origin-rate", .value("N"), "requests per second to one origin by this worker, no limit by default"),
            Option(
                "origin-concurrency", .value("WHAT"),
                "adaptive (default): fewer requests at once to an origin that asks for it or queues them; or fixed"),
            Option(
                "breaker-failures", .value("N"), "failures in a row that open the breaker of an origin, default 10"),
            Option("breaker-open", .value("DURATION"), "how long the breaker stays open before a probe, default 60s"),
            Option(
                "breaker-probes", .value("N"),
                "failed probes after which jobs fail without a request; by default they wait"),
        ] + downloadOptions

    /// The options that also apply to a single download.
    static let downloadOptions = [
        Option("robots", .value("WHAT"), "record (default) or refuse what origins forbid to robots"),
        Option("robots-txt", "also read robots.txt"),
        Option(
            "max-retry-after", .value("DURATION"),
            "longest hold of an origin by Retry-After, default and at most 1h"),
    ]

    static func resolver(_ arguments: Arguments) throws(CommandError) -> any NameResolving {
        try arguments.choice("resolver", of: ["name-servers", "system"]) == "system"
            ? Resolver(threads: 16) : Resolver()
    }

    static func robots(_ arguments: Arguments) throws(CommandError) -> RobotsSettings {
        var settings = RobotsSettings()
        settings.refuses = try arguments.choice("robots", of: ["record", "refuse"]) == "refuse"
        settings.readsFile = arguments.flag("robots-txt")
        return settings
    }

    static func origins(_ arguments: Arguments) throws(CommandError) -> OriginSettings {
        var settings = OriginSettings()
        // A refused job runs again later and occupies no slot meanwhile.
        settings.maxWait = .zero
        if let text = try arguments.value("origin-rate") {
            guard let rate = Double(text), rate >= 0.001, rate <= 1_000_000 else {
                throw .usage("\(arguments.label("origin-rate")): '\(text)' is not a number from 0.001 to 1000000")
            }
            settings.rate = rate
        }
        settings.adaptsConcurrency =
            try arguments.choice("origin-concurrency", of: ["adaptive", "fixed"]) == "adaptive"
        if let count = try arguments.number("breaker-failures", in: 1...1_000_000) { settings.failures = count }
        if let time = try arguments.duration("breaker-open") { settings.open = time }
        if let count = try arguments.number("breaker-probes", in: 0...1_000_000) { settings.probes = count }
        if let time = try arguments.duration("max-retry-after") { settings.longestHold = time }
        return settings
    }
}
