import CommandLine
import Concurrency
import DiskCache
import Downloader
import FoundationEssentials
import Glibc
import JobQueue
import Monitoring
import ObjectStore
import Prefetcher
import Terminal
import Transcoder
import Worker

/// A worker's parts, made from a command's options.
struct WorkerSetup {
    static let limits = [
        Option("slots", .value("N"), "jobs held at once, default 32; the limits of a container lower it"),
        Option("grace", .value("DURATION"), "time for running jobs to finish after a stop, default 20s"),
    ]

    static let fallbackOption = Option(
        "fallback-cache", .values("DIR"),
        "a read-only cache for files that the main cache lacks, such as an unpacked bundle")
    static let certificateOption = Option(
        "allow-invalid-certificates", "honour AllowInvalidSSLCertificates, which accepts any certificate")

    static let webhookOption = Option(
        "webhook-secret-file", .value("FILE"),
        "sign and post the webhooks of finished batches with the secret in FILE; docs/running.md")

    static let options =
        limits
        + [
            fallbackOption, certificateOption, webhookOption, TelemetryOptions.option, Settings.databaseOption,
            Settings.cacheOption,
        ]
        + NamingOption.options + StoreOptions.options + ObjectStoreOptions.options + Limits.fetchOptions
        + Limits.originOptions
        + Limits.transcodeOptions

    /// How long one call waits for an unavailable database. During longer outages the worker's loops repeat calls and
    /// check for a shutdown before each.
    static let maxWait = Duration.seconds(5)

    let cache: any ImageStore
    let transcoders: TranscoderPool
    let manager: ImageManager
    let downloader: ImageDownloader
    let tracer: JobTracer

    let configuration: PrefetchWorker.Configuration

    /// Reads all options before creating the cache, so that wrong usage creates no directory.
    init(_ arguments: Arguments, cacheRoot: String) async throws {
        let durability = try StoreOptions.durability(arguments)
        let permissions = try StoreOptions.permissions(arguments)
        let naming = try NamingOption.naming(arguments)
        let fallbacks = try arguments.list("fallback-cache").map {
            DirectoryStore(try CacheLayout(root: $0, naming: naming))
        }
        let transcoding = try Limits.transcoders(arguments)
        let fetching = try Limits.fetch(arguments)
        downloader = ImageDownloader(fetching, resolver: try Limits.resolver(arguments))
        let objects = try BucketSource(arguments, downloader, fetching.limits)
        let files = try AllowedPaths.source(arguments, fetching.limits)
        let (slots, grace) = try Self.limits(of: arguments)
        let runtime = try arguments.duration("max-runtime")
        let webhookKey = try arguments.value(Self.webhookOption.name).map(WebhookSecret.key)
        tracer = try TelemetryOptions.tracer(arguments)

        // Opening creates, reads and locks files.
        let isBucket = BucketAddress.isBucket(cacheRoot)
        let home = try Settings(arguments).home
        let (store, cacheID) = try await ThreadPool(name: "cache", threads: 1).run {
            () throws -> (any ImageStore, String) in
            guard isBucket else {
                Self.noteOwner(of: cacheRoot)
                let store = try DirectoryStore(
                    opening: cacheRoot, naming: naming, durability: durability, permissions: permissions,
                    fallbacks: fallbacks)
                return (store, try store.cacheID)
            }
            let store = try ObjectStoreOptions.store(
                cacheRoot, arguments, home: home, naming: naming, usesLocal: true, fallbacks: fallbacks)
            store.listNamesAhead()
            return (store, try store.cacheID)
        }
        cache = store
        transcoders = TranscoderPool(configuration: transcoding)
        var managing = ImageManager.Configuration(sources: [downloader, objects, files])
        managing.namedSources["web"] = downloader
        managing.limits = transcoding.limits
        // Each upload blocks a thread until the server answers.
        if isBucket { managing.storeThreads = try ObjectStoreOptions.transfers(arguments) }
        manager = ImageManager(cache: cache, transcoders: transcoders, configuration: managing)
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(
                name: "\(Machine.host):\(getpid())", host: Machine.host, processID: Int(getpid()),
                version: Larder.version, slots: slots, cacheID: cacheID))
        configuration.origins = downloader.origins
        if let webhookKey { configuration.webhooks = (downloader, webhookKey) }
        if let grace { configuration.grace = grace }
        configuration.runtime = runtime
        configuration.limits = WorkerLimits(transcoding.limits)
        configuration.recordsTraces = tracer.spans != nil
        self.configuration = configuration
    }

    /// Warns root before its files are in the cache of a service, which could not replace them. Blocks.
    private static func noteOwner(of root: String) {
        var status = stat()
        guard geteuid() == 0, stat(root, &status) == 0, status.st_uid != 0 else { return }
        Console.note(
            "larder: \(root) belongs to user \(status.st_uid), who cannot replace files of root: run this as that user, "
                + "sudo -u '#\(status.st_uid)' larder ...")
    }

    /// `--slots` and `--grace`.
    static func limits(of arguments: Arguments) throws(CommandError) -> (slots: Int, grace: Duration?) {
        (try arguments.number("slots", in: 1...10_000) ?? WorkerSize.here.slots, try arguments.duration("grace"))
    }

    /// Finishes batches without open items and posts their webhooks, before the process ends.
    ///
    /// Without this the views show a batch as finished only if no older transaction is open on the server.
    func finishBatches(of queue: PostgresJobQueue) async {
        _ = try? await queue.workers.maintain(force: true)
        guard let (downloader, key) = configuration.webhooks else { return }
        await WebhookService(downloader: downloader, key: key, queue: queue).sendDue()
    }

    /// What counts for `/metrics` and for a collector; nil without either.
    func endpoint(isServed: Bool) -> WorkerEndpoint? {
        guard isServed || tracer.metrics != nil else { return nil }
        return WorkerEndpoint(configuration, manager, transcoders, tracer)
    }

    /// For a command that ends: without the transcoders' program it would wait for ever.
    ///
    /// - Throws: `TranscodeError` 501.
    func requireTranscoder() throws(TranscodeError) { try transcoders.requireProgram() }

    func shutdown() async { await transcoders.shutdown() }
}

extension WorkerLimits {
    fileprivate init(_ limits: TranscodeLimits) {
        self.init(
            memory: Int64(limits.memoryBytes), time: limits.softTime.milliseconds + limits.hardTime.milliseconds)
    }
}

/// The secret for signing webhooks.
enum WebhookSecret {
    /// The signing key in a file: base64 with the prefix `whsec_`, as in Standard Webhooks 1.0, of 24 to 64 bytes.
    ///
    /// - Throws: the file's fault, never its content.
    static func key(in path: String) throws(CommandError) -> [UInt8] {
        let text = String(decoding: try WholeFile.bytes(path), as: UTF8.self).trimmed(of: \.isWhitespace)
        guard text.hasPrefix("whsec_"), let key = Data(base64Encoded: String(text.dropFirst(6))),
            (24...64).contains(key.count)
        else {
            throw .usage(
                "--webhook-secret-file: \(path) must contain whsec_ and 24 to 64 bytes in base64, such as "
                    + "\"whsec_$(openssl rand -base64 32)\"")
        }
        return Array(key)
    }
}
