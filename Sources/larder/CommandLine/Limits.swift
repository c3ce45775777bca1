import Downloader
import ImageModel
import Prefetcher
import Transcoder

/// The options that set limits, shared by every command that downloads or decodes.
enum Limits {
    static let fetchOptions = [
        Option("allow-address", .values("CIDR"), "open a private or loopback range, e.g. 127.0.0.0/8"),
        Option("allow-port", .values("N"), "open a port besides 80, 443, 8080 and 8443"),
        Option("max-body", .value("SIZE"), "largest body, default 32MiB"),
        Option("dns-timeout", .value("DURATION"), "name look-up, default 3s"),
        Option("resolver", .value("NAME"), "name-servers (default) or system: getaddrinfo, on 16 threads"),
        Option("connect-timeout", .value("DURATION"), "connecting, default 5s"),
        Option("idle-timeout", .value("DURATION"), "no byte received, default 15s"),
        Option("total-timeout", .value("DURATION"), "a whole download, redirects included, default 60s"),
        Option("max-redirects", .value("N"), "redirects followed, default 5"),
        Option("origin-connections", .value("N"), "connections to one origin, default 4"),
        Option("origin-streams", .value("N"), "downloads at once over one HTTP/2 connection, default 8"),
        Option("contact", .value("URL"), "an address for the user agent, for origins to complain to"),
        Option("credentials", .value("FILE"), "credential profiles as JSON, which jobs name; docs/downloader.md"),
        Option("proxy", .value("URL"), "an http or https proxy for all downloads; needs --proxy-trusted"),
        Option("proxy-trusted", .flag, "the proxy keeps downloads from private addresses, as Larder then cannot"),
    ]

    static let formatOption = Option(
        "allow-format", .values("NAME"), "let in tiff, svg, jxl or pdf, which are refused by default; docs/formats.md")

    static let transcodeOptions = [
        formatOption,
        Option("transcoders", .value("N"), "child processes that decode and encode, default: cores"),
        Option("max-pixels", .value("N"), "pixels of one frame, default 50000000"),
        Option("max-edge", .value("N"), "longest edge of a source, default 16383"),
        Option("max-output-edge", .value("N"), "longest edge of a variant, default 8192"),
        Option("max-frames", .value("N"), "frames of an animated source, default 100"),
        Option("max-animated-pixels", .value("N"), "pixels of all its frames, default 100000000"),
        Option("max-memory", .value("SIZE"), "memory of one transcoder, default 1GiB"),
        Option("soft-time", .value("DURATION"), "a picture is given up after so long in work, default 20s"),
        Option("hard-time", .value("DURATION"), "a transcoder is killed after so long with one picture, default 30s"),
        Option("path", .value("NAME"), "planes where they can be used (default), or libvips for every picture"),
    ]

    static func transcoders(_ arguments: Arguments) throws(CommandError) -> TranscoderPool.Configuration {
        var configuration = TranscoderPool.Configuration()
        configuration.limits.formats = try formats(arguments)
        configuration.count = try arguments.number("transcoders", in: 1...256) ?? Machine.cores
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
        if let frames = try arguments.number("max-frames", in: 1...100_000) { configuration.limits.frames = frames }
        if let bytes = try arguments.bytes("max-memory") { configuration.limits.memoryBytes = bytes }
        if let time = try arguments.duration("hard-time") { configuration.limits.hardTime = time }
        let softTime = try arguments.duration("soft-time") ?? configuration.limits.softTime
        configuration.limits.softTime = min(softTime, configuration.limits.hardTime)
        switch try arguments.value("path") {
        case nil, "planes": break
        case "libvips": configuration.limits.allowsPlanes = false
        case let other?: throw .usage("--path: '\(other)' is neither planes nor libvips")
        }
        return configuration
    }

    /// The formats let in: those of the default, and those that `--allow-format` names.
    static func formats(_ arguments: Arguments) throws(CommandError) -> Set<ImageFormat> {
        var formats = ImageFormat.acceptedByDefault
        for name in try arguments.list("allow-format") {
            guard let format = ImageFormat.acceptedOnRequest.first(where: { $0.name == name }) else {
                let names = ImageFormat.acceptedOnRequest.map(\.name).sorted().joined(separator: ", ")
                throw .usage("--allow-format: '\(name)' is none of \(names)")
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
                throw .usage("--allow-address: '\(text)' is no address range such as 10.0.0.0/8 or fd00::/8")
            }
            ranges.append(range)
        }
        var ports: Set<UInt16> = []
        for text in try arguments.list("allow-port") {
            guard let port = UInt16(text), port > 0 else { throw .usage("--allow-port: '\(text)' is no port") }
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
        configuration.robots = try robots(arguments)
        configuration.allowsInvalidCertificates = arguments.flag("allow-invalid-certificates")
        configuration.credentials = try credentials(arguments)
        configuration.proxy = try proxy(arguments)
        return configuration
    }

    private static func credentials(_ arguments: Arguments) throws(CommandError) -> [String: CredentialProfile] {
        guard let path = try arguments.value("credentials") else { return [:] }
        let json = try WholeFile.bytes(path)
        do throws(CredentialProfileError) {
            return try CredentialProfile.profiles(json: json)
        } catch {
            throw .usage("--credentials \(path): \(error)")
        }
    }

    private static func proxy(_ arguments: Arguments) throws(CommandError) -> FetchProxy? {
        guard let text = try arguments.value("proxy") else { return nil }
        guard arguments.flag("proxy-trusted") else {
            throw .usage("--proxy: behind a proxy Larder cannot check addresses; --proxy-trusted says that it does")
        }
        do throws(FetchError) {
            return try FetchProxy(text)
        } catch {
            throw .usage("--proxy: \(error.message)")
        }
    }
}
