import DiskCache
import ImageModel
import ObjectStore

/// The options of a cache in a bucket, `--cache s3://BUCKET/PREFIX`.
enum ObjectStoreOptions {
    static let options = [
        Option(
            "s3-endpoint", .value("URL"),
            "the object store's server; default: AWS_ENDPOINT_URL_S3, else that of the region"),
        Option("s3-region", .value("NAME"), "its region; default: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1"),
        Option(
            "s3-style", .value("STYLE"),
            "how requests name the bucket: path or host; default: path where --s3-endpoint is given"),
        Option("s3-local", .value("DIR"), "the directory in front of the bucket; default: LARDER_HOME/s3/<hash>"),
        Option("s3-local-size", .value("SIZE"), "above it, its oldest files are deleted, default 1GiB"),
        Option("s3-local-age", .value("DURATION"), "its files not read for so long are deleted, default 1d"),
        Option("s3-transfers", .value("N"), "requests to the object store at once, default 16"),
        Option("s3-part-threshold", .value("SIZE"), "larger files are uploaded in parts, default 16MiB"),
        Option(
            "s3-cache-control", .value("TEXT"),
            "Cache-Control of stored objects, 'none' for none, default 'public, max-age=86400'"),
        Option("s3-authorities", .value("FILE"), "certificate authorities for its server, default: the system's"),
    ]

    /// Requests at once.
    static func transfers(_ arguments: Arguments) throws(CommandError) -> Int {
        try arguments.number("s3-transfers", in: 1...256) ?? 16
    }

    /// The store in a bucket. Sends nothing and creates nothing.
    ///
    /// - Parameters:
    ///   - usesLocal: whether files are read from the local directory, too.
    ///   - holdsNames: whether names are listed once in place of a request for each; `usesLocal` by default.
    ///   - fallbacks: none by default.
    static func store(
        _ url: String, _ arguments: Arguments, home: String, namespace: String = "default",
        naming: any CacheNaming = .sdWebImage, usesLocal: Bool, holdsNames: Bool? = nil,
        fallbacks: [any ImageStore] = []
    ) throws -> S3Store {
        var options = S3Store.Options()
        options.usesLocal = usesLocal
        options.holdsNames = holdsNames ?? usesLocal
        options.fallbacks = fallbacks
        if let size = try arguments.bytes("s3-local-size") { options.localSize = size }
        if let age = try arguments.duration("s3-local-age") { options.localAge = age }
        if let size = try arguments.bytes("s3-part-threshold") { options.partThreshold = max(size, options.partSize) }
        if let text = try arguments.value("s3-cache-control") { options.cacheControl = text == "none" ? nil : text }
        let client = try client(url, arguments)
        let place = SHA256Digest.hex(of: client.bucket.identity.utf8).prefix(16)
        let root = try arguments.value("s3-local").map(Settings.absolute) ?? "\(home)/s3/\(place)"
        let local =
            usesLocal
            ? try DirectoryStore(opening: root, namespace: namespace, naming: naming, durability: .none)
            : DirectoryStore(try CacheLayout(root: root, namespace: namespace, naming: naming))
        return S3Store(client, local: local, options: options)
    }

    private static func client(_ url: String, _ arguments: Arguments) throws(CommandError) -> ObjectClient {
        let environment = arguments.environment
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let region =
            try arguments.value("s3-region") ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
        var configuration = ObjectClient.Configuration()
        configuration.transfers = try transfers(arguments)
        configuration.authorities = try arguments.value("s3-authorities")
        let style = try arguments.choice("s3-style", of: ["path", "host"])
        do throws(ObjectStoreError) {
            let bucket = try BucketAddress(
                url, endpoint: try endpoint(arguments) ?? variable("AWS_ENDPOINT_URL_S3"), region: region,
                pathStyle: style.map { $0 == "path" })
            let source = try CredentialSource(
                environment: environment, home: variable("HOME"), region: bucket.region)
            return ObjectClient(bucket, credentials: CredentialCache(source), configuration: configuration)
        } catch {
            throw .usage("--cache \(url): \(error.message)")
        }
    }

    private static func endpoint(_ arguments: Arguments) throws(ObjectStoreError) -> String? {
        do throws(CommandError) { return try arguments.value("s3-endpoint") } catch {
            throw ObjectStoreError(.invalidAddress, error.message)
        }
    }
}
