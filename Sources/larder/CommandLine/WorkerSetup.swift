import DiskCache
import Glibc
import JobQueue
import Prefetcher
import Transcoder

/// The parts of a worker, made from a command's options.
struct WorkerSetup {
    static let options =
        [
            Option("slots", .value("N"), "jobs at once, default 32"),
            Option("grace", .value("TIME"), "how long running jobs may go on once stopped, default 20s"),
            Option("durability", .value("LEVEL"), "what a store waits for: none, data (default) or full"),
            Settings.databaseOption, Settings.cacheOption,
        ] + Limits.fetchOptions + Limits.transcodeOptions

    /// How long one call of a worker waits for its database. The worker's own loops ride out longer outages, and
    /// between calls they hear that they are to stop.
    static let patience = Duration.seconds(5)

    let cache: DiskCache
    private let transcoders: TranscoderPool
    let manager: ImageManager

    init(_ arguments: Arguments, cacheRoot: String) throws {
        cache = try Self.openCache(cacheRoot, arguments)
        let transcoding = try Limits.transcoders(arguments)
        transcoders = TranscoderPool(configuration: transcoding)
        manager = ImageManager(
            cache: cache, downloader: Downloader(try Limits.fetch(arguments)), transcoders: transcoders,
            formats: transcoding.limits.formats)
    }

    /// The worker's configuration from the options.
    func configuration(_ arguments: Arguments) throws(CommandError) -> PrefetchWorker.Configuration {
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(
                name: "\(Machine.host):\(getpid())", host: Machine.host, processID: Int(getpid()),
                version: Larder.version, slots: try arguments.number("slots", in: 1...10_000) ?? 32,
                cacheID: cache.cacheID))
        if let grace = try arguments.duration("grace") { configuration.grace = grace }
        configuration.runtime = try arguments.duration("max-runtime")
        return configuration
    }

    /// Ends what the setup started.
    func shutdown() async { await transcoders.shutdown() }

    private static func openCache(_ root: String, _ arguments: Arguments) throws -> DiskCache {
        var durability = Durability.data
        if let word = try arguments.value("durability") {
            guard let level = Durability(rawValue: word) else {
                throw CommandError.usage("--durability: '\(word)' is none of none, data, full")
            }
            durability = level
        }
        return try DiskCache(opening: root, durability: durability)
    }
}
