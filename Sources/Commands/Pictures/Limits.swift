import CommandLine
import DiskCache
import Downloader
import Glibc
import ImageModel
import Prefetcher
import Terminal
import Transcoder

/// The options for limits of commands that download or decode.
enum Limits {
    static let fetchOptions = [
        Option("allow-address", .values("CIDR"), "allow a private or loopback range, such as 127.0.0.0/8"),
        Option("allow-port", .values("N"), "allow a port besides 80, 443, 8080 and 8443"),
        BucketSource.option,
        AllowedPaths.option,
        Option("max-body", .value("SIZE"), "largest body, default 32MiB"),
        Option("dns-timeout", .value("DURATION"), "time to resolve a name, default 3s"),
        Option("resolver", .value("NAME"), "name-servers (default), or system for getaddrinfo on 32 threads"),
        Option("connect-timeout", .value("DURATION"), "time to connect, default 5s"),
        Option("idle-timeout", .value("DURATION"), "time without a received byte, default 15s"),
        Option("total-timeout", .value("DURATION"), "time of a whole download, redirects included, default 60s"),
        Option("max-redirects", .value("N"), "redirects followed, default 5"),
        Option("origin-connections", .value("N"), "connections to one origin, default 4"),
        Option("origin-streams", .value("N"), "simultaneous downloads over one HTTP/2 connection, default 8"),
        Option("contact", .value("URL"), "a contact address for the user agent"),
        Option(
            "credentials", .value("FILE"), "JSON with the credential profiles that jobs refer to; docs/fetching.md"),
        Option("proxy", .value("URL"), "an http or https proxy for all downloads; requires --proxy-trusted"),
        Option("proxy-trusted", .flag, "the proxy refuses private addresses, which Larder cannot check behind a proxy"),
    ]

    static let formatOption = Option(
        "allow-format", .values("NAME"), "accept tiff, svg, jxl or pdf, which are refused by default; docs/images.md")

    static let transcodeOptions = [
        formatOption,
        Option(
            "transcoders", .value("N"),
            "child processes that decode and encode, default: cores; the limits of a container lower it"),
        Option("max-pixels", .value("N"), "largest frame in pixels, default 50000000"),
        Option("max-edge", .value("N"), "longest edge of a source, default 16383"),
        Option("max-output-edge", .value("N"), "longest edge of a variant, default 8192"),
        Option(
            "max-frames", .value("N"),
            "frames of an animated GIF, WebP or HEIC, at most 10000, default 100; PNG and AVIF have the limit of pixels"
        ),
        Option("max-animated-pixels", .value("N"), "pixels of all frames of an animated source, default 100000000"),
        Option(
            "max-memory", .value("SIZE"), "memory of one transcoder, default 1GiB; the limits of a container lower it"),
        Option("soft-time", .value("DURATION"), "processor time after which an image fails, default 20s"),
        Option(
            "hard-time", .value("DURATION"),
            "processor time after which the transcoder of an image is killed, default 30s"),
        Option(
            "wall-time", .value("DURATION"),
            "time after which a transcoder that still works on an image is killed, and the image tried again, default 2m"
        ),
        Option(
            "sandbox", .value("POLICY"),
            "required (default) refuses images where the kernel lacks seccomp or Landlock; best-effort decodes them"),
        Option(
            "watermarks", .value("DIR"), "directory of the files that watermarks of variants name; docs/images.md"
        ),
        Option("path", .value("NAME"), "planes (default) where possible, or libvips for every image"),
    ]

    static func transcoders(_ arguments: Arguments) throws(CommandError) -> TranscoderPool.Configuration {
        var configuration = TranscoderPool.Configuration()
        configuration.limits.formats = try formats(arguments)
        configuration.limits.coders = arguments.file?.coders ?? []
        configuration.count = try arguments.number("transcoders", in: 1...256) ?? WorkerSize.here.transcoders
        if let pixels = try arguments.number("max-pixels", in: 1...2_000_000_000) {
            configuration.limits.framePixels = pixels
        }
        if let edge = try arguments.number("max-edge", in: 1...100_000) { configuration.limits.inputEdge = edge }
        if let edge = try arguments.number("max-output-edge", in: 1...100_000) {
            configuration.limits.outputEdge = edge
        }
        if let pixels = try arguments.number("max-animated-pixels", in: 1...10_000_000_000) {
            configuration.limits.animatedPixels = pixels
        }
        if let frames = try arguments.number("max-frames", in: 1...SourceHeader.frameLimit) {
            configuration.limits.frames = frames
        }
        configuration.limits.memoryBytes = try arguments.bytes("max-memory") ?? WorkerSize.here.imageBytes
        if let time = try arguments.duration("hard-time") { configuration.limits.hardTime = time }
        if let time = try arguments.duration("wall-time") { configuration.limits.wallTime = time }
        let softTime = try arguments.duration("soft-time")
        if let softTime, softTime > configuration.limits.hardTime {
            let limit = try arguments.value("hard-time") ?? "\(configuration.limits.hardTime)"
            throw .usage("\(arguments.label("soft-time")): must not be longer than --hard-time, which is \(limit)")
        }
        configuration.limits.softTime = min(softTime ?? configuration.limits.softTime, configuration.limits.hardTime)
        configuration.limits.allowsPlanes = try arguments.choice("path", of: ["planes", "libvips"]) != "libvips"
        configuration.watermarks = try arguments.value("watermarks")
        if let policy = try arguments.choice("sandbox", of: SandboxPolicy.allCases.map(\.rawValue)) {
            configuration.sandbox = SandboxPolicy(rawValue: policy) ?? .required
        }
        return configuration
    }

    /// The default formats and the formats of `--allow-format`.
    static func formats(_ arguments: Arguments) throws(CommandError) -> Set<ImageFormat> {
        var formats = ImageFormat.acceptedByDefault
        for name in try arguments.list("allow-format") {
            guard let format = ImageFormat.acceptedOnRequest.first(where: { $0.name == name }) else {
                let names = ImageFormat.acceptedOnRequest.map(\.name).sorted().joined(separator: ", ")
                throw .usage("\(arguments.label("allow-format")): '\(name)' is not one of \(names)")
            }
            formats.insert(format)
        }
        return formats
    }
}

extension Limits {
    static func fetch(_ arguments: Arguments) throws(CommandError) -> FetchConfiguration {
        var ranges: [CIDR] = []
        for text in try arguments.list("allow-address") {
            guard let range = CIDR(text) else {
                throw .usage(
                    "\(arguments.label("allow-address")): '\(text)' is not an address range such as 10.0.0.0/8 or fd00::/8"
                )
            }
            ranges.append(range)
        }
        var ports: Set<UInt16> = []
        for text in try arguments.list("allow-port") {
            guard let port = UInt16(text), port > 0 else {
                throw .usage("\(arguments.label("allow-port")): '\(text)' is not a port")
            }
            ports.insert(port)
        }
        var limits = FetchLimits()
        if let bytes = try arguments.bytes("max-body") { limits.body = Int64(bytes) }
        if let time = try arguments.duration("dns-timeout") { limits.lookup = time }
        if let time = try arguments.duration("connect-timeout") { limits.connect = time }
        if let time = try arguments.duration("idle-timeout") { limits.idle = time }
        if let time = try arguments.duration("total-timeout") { limits.total = time }
        if let count = try arguments.number("max-redirects", in: 0...50) { limits.redirects = count }
        var configuration = FetchConfiguration(
            policy: AddressPolicy(allowedAddresses: ranges, allowedPorts: ports), limits: limits,
            userAgent: FetchConfiguration.userAgent(
                version: Larder.version, contact: try arguments.value("contact")))
        if let count = try arguments.number("origin-connections", in: 1...1000) {
            configuration.transfersPerOrigin = count
        }
        if let count = try arguments.number("origin-streams", in: 1...1000) { configuration.streamsPerOrigin = count }
        configuration.origins = try origins(arguments)
        configuration.hosts = arguments.file?.hosts ?? [:]
        configuration.robots = try robots(arguments)
        configuration.allowsInvalidCertificates = arguments.flag("allow-invalid-certificates")
        configuration.credentials = try credentials(arguments)
        configuration.proxy = try proxy(arguments)
        return configuration
    }

    /// - Throws: wrong usage for a context that names a profile missing in `--credentials`, or a coder missing in the
    ///   configuration.
    static func checkNames(of context: String?, _ arguments: Arguments) throws {
        guard let context = try context.map({ try LoadContext(json: $0.utf8) }) else { return }
        if let name = context.credentials, try credentials(arguments)[name] == nil {
            throw CommandError.usage("\(arguments.label("context")): '\(name)' is not a profile of --credentials")
        }
        if let name = context.coder, arguments.file?.coders.contains(where: { $0.name == name }) != true {
            throw CommandError.usage(
                "\(arguments.label("context")): '\(name)' is not a coder of the configuration file")
        }
    }

    /// Profiles of the configuration file and of `--credentials`, which take precedence.
    static func credentials(_ arguments: Arguments) throws(CommandError) -> [String: CredentialProfile] {
        let tables = arguments.file?.credentials ?? [:]
        guard let path = try arguments.value("credentials") else { return tables }
        let json = try WholeFile.bytes(path)
        do throws(VariantError) {
            return tables.merging(try CredentialProfile.profiles(json: json)) { _, named in named }
        } catch {
            throw .usage("--credentials \(path): \(error)")
        }
    }

    private static func proxy(_ arguments: Arguments) throws(CommandError) -> FetchProxy? {
        guard let text = try arguments.value("proxy") else { return nil }
        guard arguments.flag("proxy-trusted") else {
            throw .usage(
                "\(arguments.label("proxy")): Larder cannot check addresses behind a proxy; --proxy-trusted states that the proxy does"
            )
        }
        do throws(FetchError) {
            return try FetchProxy(text)
        } catch {
            throw .usage("\(arguments.label("proxy")): \(error.message)")
        }
    }
}

/// The directories whose files a command may read as `file:` URLs.
enum AllowedPaths {
    static let option = Option(
        "allow-path", .values("DIR"), "allow file: URLs below a directory; links below it are not followed")

    /// The options' source. `run` itself reads the files that `--from-directory` enqueues.
    ///
    /// - Throws: wrong usage for a path that is not a directory.
    static func source(_ arguments: Arguments, _ limits: FetchLimits) throws(CommandError) -> FileSource {
        let paths = try arguments.list(option.name) + arguments.list("from-directory")
        do throws(StoreError) {
            return try FileSource(directories: paths, limits: limits)
        } catch {
            let reason =
                switch error.number {
                case ENOSYS: "file: URLs need Linux 5.6 or later"
                case EPERM: "the container's seccomp filter denies openat2, which file: URLs need"
                default: String(cString: strerror(error.number))
                }
            throw .usage("\(arguments.label(option.name)): cannot open '\(error.path)': \(reason)")
        }
    }
}
