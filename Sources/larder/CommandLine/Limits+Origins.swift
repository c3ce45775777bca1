import Downloader
import Prefetcher

/// The options that limit the requests of a worker to an origin.
extension Limits {
    static let originOptions =
        [
            Option("origin-rate", .value("N"), "requests per second to one origin by this worker, no limit by default"),
            Option(
                "breaker-failures", .value("N"), "failures in a row that open the breaker of an origin, default 10"),
            Option("breaker-open", .value("DURATION"), "time before an open breaker admits a probe, default 60s"),
            Option(
                "breaker-probes", .value("N"), "failed probes after which its jobs fail without a request, default 3"),
        ] + guestOptions

    /// The options that apply to a single download as well.
    static let guestOptions = [
        Option("robots", .value("WHAT"), "record (default) or refuse images that robots directives forbid"),
        Option("robots-txt", "read robots.txt as well"),
        Option(
            "max-retry-after", .value("DURATION"),
            "longest hold by Retry-After, default and maximum 1h"),
    ]

    static func resolver(_ arguments: Arguments) throws(CommandError) -> any NameResolving {
        switch try arguments.value("resolver") ?? "name-servers" {
        case "name-servers": return Resolver()
        case "system": return Resolver(threads: 16)
        case let other: throw .usage("--resolver: '\(other)' is neither name-servers nor system")
        }
    }

    static func robots(_ arguments: Arguments) throws(CommandError) -> RobotsSettings {
        var settings = RobotsSettings()
        switch try arguments.value("robots") ?? "record" {
        case "record": break
        case "refuse": settings.refuses = true
        case let other: throw .usage("--robots: '\(other)' is neither record nor refuse")
        }
        settings.readsFile = arguments.flag("robots-txt")
        return settings
    }

    static func origins(_ arguments: Arguments) throws(CommandError) -> OriginSettings {
        var settings = OriginSettings()
        // A refused job runs again later, without a slot meanwhile.
        settings.maxWait = .zero
        if let text = try arguments.value("origin-rate") {
            guard let rate = Double(text), rate >= 0.001, rate <= 1_000_000 else {
                throw .usage("--origin-rate: '\(text)' is not a number from 0.001 to 1000000")
            }
            settings.rate = rate
        }
        if let count = try arguments.number("breaker-failures", in: 1...1_000_000) { settings.failures = count }
        if let time = try arguments.duration("breaker-open") { settings.open = time }
        if let count = try arguments.number("breaker-probes", in: 0...1_000_000) { settings.probes = count }
        if let time = try arguments.duration("max-retry-after") { settings.longestHold = time }
        return settings
    }
}
