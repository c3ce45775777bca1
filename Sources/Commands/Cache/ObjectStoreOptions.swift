import CommandLine
import DiskCache
import Downloader
import ImageModel
import ObjectStore
import Terminal
import Transcoder

/// The options for an object store's server and a bucket cache, `--cache s3://BUCKET/PREFIX`.
enum ObjectStoreOptions {
    private static let address = [
        Option(
            "s3-endpoint", .value("URL"),
            "the object store's server; default: AWS_ENDPOINT_URL_S3, else the region's"),
        Option("s3-region", .value("NAME"), "its region; default: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1"),
        Option(
            "s3-style", .value("STYLE"),
            "how requests name the bucket: path or host; default: path where --s3-endpoint is given"),
    ]

    private static let authorities = Option(
        "s3-authorities", .value("FILE"), "certificate authorities for its server, default: the system's")

    /// The options of commands that only read objects.
    static let server = address + [authorities]

    private static let requests = ObjectClient.Configuration().transfers

    static let options =
        address
        + [
            Option(
                "s3-local", .value("DIR"),
                "the directory of local copies, in which each bucket has its own; default: LARDER_HOME/s3"),
            Option("s3-local-size", .value("SIZE"), "above it, the oldest copies are deleted, default 1GiB"),
            Option("s3-local-age", .value("DURATION"), "how long a local copy is used, then deleted, default 1d"),
            Option("s3-transfers", .value("N"), "requests to the object store at once, default \(requests)"),
            Option("s3-part-threshold", .value("SIZE"), "larger files are uploaded in parts, default 16MiB"),
            Option(
                "s3-cache-control", .value("TEXT"),
                "Cache-Control of stored objects, 'none' for none, default '\(S3Store.Options().cacheControl ?? "none")'"
            ),
            authorities,
        ]

    static func transfers(_ arguments: Arguments) throws(CommandError) -> Int {
        try arguments.number("s3-transfers", in: 1...256) ?? requests
    }

    /// The store in a bucket. Sends nothing and creates nothing.
    ///
    /// - Parameters:
    ///   - usesLocal: whether to read files also from the local directory.
    ///   - holdsNames: whether to list names once instead of one request each; `usesLocal` by default.
    ///   - fallbacks: none by default.
    static func store(
        _ url: String, _ arguments: Arguments, home: String, namespace: String = "default",
        naming: any CacheNaming = .sdWebImage, usesLocal: Bool, holdsNames: Bool? = nil,
        fallbacks: [any ImageStore] = []
    ) throws -> S3Store {
        guard !naming.mayShareNames else {
            throw CommandError.usage("--naming template: needs a directory as --cache; export from a bucket instead")
        }
        var options = S3Store.Options()
        options.usesLocal = usesLocal
        options.holdsNames = holdsNames ?? usesLocal
        options.fallbacks = fallbacks
        var limits = TranscodeLimits()
        limits.coders = arguments.file?.coders ?? []
        options.mediaType = { [limits] in limits.coder(of: $0)?.mediaType }
        if let size = try arguments.bytes("s3-local-size") { options.localSize = size }
        if let age = try arguments.duration("s3-local-age") { options.localAge = age }
        if let size = try arguments.bytes("s3-part-threshold") { options.partThreshold = max(size, options.partSize) }
        if let text = try arguments.value("s3-cache-control") { options.cacheControl = text == "none" ? nil : text }
        let client = try client(url, of: "cache", arguments, transfers: transfers(arguments))
        let place = SHA256Digest.hex(of: client.bucket.identity.utf8).prefix(16)
        let root = (try arguments.value("s3-local").map(Settings.absolute) ?? "\(home)/s3") + "/\(place)"
        let local =
            usesLocal
            ? try DirectoryStore(opening: root, namespace: namespace, naming: naming, durability: .none)
            : DirectoryStore(try CacheLayout(root: root, namespace: namespace, naming: naming))
        return S3Store(client, local: local, options: options)
    }

    /// A client for the bucket in `url`, the value of option `name`.
    private static func client(
        _ url: String, of name: String, _ arguments: Arguments, transfers: Int
    ) throws(CommandError) -> ObjectClient {
        var configuration = ObjectClient.Configuration()
        configuration.transfers = transfers
        configuration.authorities = try arguments.value("s3-authorities")
        let address = try address(url, of: name, arguments)
        return ObjectClient(
            address, credentials: try credentials(arguments, region: address.region), configuration: configuration)
    }

    /// Downloads the object at `url`, the value of option `name`, to an unnamed file.
    static func download(
        _ url: String, of name: String, _ arguments: Arguments
    ) async throws(CommandError) -> OutputFile {
        let object: ObjectURL
        do throws(ObjectStoreError) { object = try ObjectURL(url) } catch {
            throw .usage("--\(name): \(error.message)")
        }
        let file = try OutputFile.scratch()
        let client = try client(object.bucketURL, of: name, arguments, transfers: 1)
        do throws(ObjectStoreError) {
            guard try await client.get(object.key, into: file.descriptor) != nil else {
                throw ObjectStoreError(.noObject, "there is no such object")
            }
        } catch {
            throw .larder(.file, "cannot read \(PrintableText.text(url)): \(error.message)")
        }
        return file
    }

    /// The bucket in `url`, the value of option `name`, at the options' server.
    static func address(
        _ url: String, of name: String, _ arguments: Arguments
    ) throws(CommandError) -> BucketAddress {
        let region =
            try arguments.value("s3-region") ?? variable("AWS_REGION", arguments)
            ?? variable("AWS_DEFAULT_REGION", arguments)
        let style = try arguments.choice("s3-style", of: ["path", "host"])
        let endpoint = try arguments.value("s3-endpoint") ?? variable("AWS_ENDPOINT_URL_S3", arguments)
        do throws(ObjectStoreError) {
            return try BucketAddress(url, endpoint: endpoint, region: region, pathStyle: style.map { $0 == "path" })
        } catch {
            throw .usage("--\(name) \(url): \(error.message)")
        }
    }

    static func credentials(_ arguments: Arguments, region: String) throws(CommandError) -> CredentialCache {
        do throws(ObjectStoreError) {
            return CredentialCache(
                try CredentialSource(
                    environment: arguments.environment, home: variable("HOME", arguments), region: region))
        } catch {
            throw .usage("the object store: \(error.message)")
        }
    }

    private static func variable(_ name: String, _ arguments: Arguments) -> String? {
        arguments.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
