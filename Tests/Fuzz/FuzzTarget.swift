@testable import Codecs
@testable import CommandLine
@testable import DiskCache
@testable import Downloader
@testable import ImageModel
@testable import JobQueue
@testable import Lists
@testable import ObjectStore
@testable import Prefetcher
@testable import Reports
@testable import Transcoder

/// A parser that reads bytes of others. It must answer or throw for any bytes; libFuzzer reports a trap, a finding of
/// AddressSanitizer, and more than 5 s or 2 GiB for one input.
enum FuzzTarget: String, CaseIterable {
    case png, iso, gif, icc, formats, pam
    case http, robots, urls, keys
    case lists, feeds, xml
    case manifest, toml, cron, variants, template
    case childRequest = "child-request"
    case childReply = "child-reply"

    /// Reads `bytes` as an attacker's.
    func run(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .png: png(bytes)
        case .iso: iso(bytes)
        case .gif: gif(bytes)
        case .icc: icc(Array(bytes))
        case .formats: formats(bytes)
        case .pam: _ = try? PAMImage(bytes, limits)
        case .http: http(bytes)
        case .robots: _ = RobotsRules(bytes).allow(target(bytes))
        case .urls: urls(bytes)
        case .keys: keys(bytes)
        case .lists: lists(bytes)
        case .feeds: feeds(Array(bytes))
        case .xml: _ = XMLNode(Array(bytes))?.all("Contents")
        case .manifest: _ = try? ManifestEntry(line: Array(bytes), of: "a bundle")
        case .toml: _ = try? TOMLDocument.entries(of: Array(bytes), name: "larder.toml")
        case .cron: cron(text(bytes))
        case .variants: variants(bytes)
        case .template: if let template = try? PathTemplate(text(bytes)) { name(template) }
        case .childRequest: request(Array(bytes))
        case .childReply: reply(Array(bytes))
        }
    }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

    private var limits: TranscodeLimits {
        var limits = TranscodeLimits()
        limits.framePixels = 1_000_000
        return limits
    }
}

// MARK: - Images

extension FuzzTarget {
    private func png(_ bytes: UnsafeRawBufferPointer) {
        _ = PNGChunks.frames(bytes)
        _ = PNGChunks.endOfPixels(bytes)
        _ = PNGChunks.declaredEnd(bytes)
        _ = PNGChunks.compressedTexts(bytes)
        _ = PNGColor.read(bytes)
        _ = PNGRepair.edits(bytes)
        guard let animation = try? PNGAnimation(bytes) else { return }
        for frame in animation.frames.prefix(4) { _ = try? animation.still(frame, of: bytes) }
    }

    private func iso(_ bytes: UnsafeRawBufferPointer) {
        _ = ISOBoxes.declaredEnd(bytes)
        _ = ISOBoxes.inMeta(bytes)
        _ = HEIFSequence.frames(bytes)
        _ = HEIFColor.read(bytes)
        _ = HEIFRepair.edits(bytes)
        if let sequence = AVIFSequence(bytes), sequence.size.area <= 1_000_000 {
            try? sequence.forEachFrame(min(4, sequence.seconds.count)) { (_: [UInt8]) throws(CodecFailure) in }
        }
    }

    private func gif(_ bytes: UnsafeRawBufferPointer) {
        let prefix = Array(bytes.prefix(16))
        guard let width = prefix.littleEndian(at: 6, length: 2), let height = prefix.littleEndian(at: 8, length: 2),
            width > 0, height > 0, width * height <= 1_000_000
        else { return }
        var coverage = GIFCoverage(bytes, canvas: PixelSize(width: width, height: height))
        for _ in 0..<8 { _ = coverage.nextAlpha() }
    }

    private func icc(_ profile: [UInt8]) {
        _ = ICCProfile.space(profile)
        _ = ICCProfile.isSRGB(profile)
        _ = ICCProfile.isPerceptualOnly(profile)
        _ = MatrixProfile(profile)
    }

    private func formats(_ bytes: UnsafeRawBufferPointer) {
        let prefix = Array(bytes.prefix(4_096))
        _ = SDImageFormat.sniff(prefix: prefix, suffix: Array(bytes.suffix(100)))
        guard let format = ImageFormat.recognise(prefix) else { return }
        _ = DeclaredSize(bytes, format: format)
        _ = format.declaredEnd?(bytes)
        _ = format.parts?.count(bytes)
    }
}

// MARK: - The network

extension FuzzTarget {
    /// The first byte chooses the encoding, the second the length of a piece.
    private func http(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 2 else { return }
        let encodings = ["gzip", "deflate", "br", "zstd", "gzip, br", "deflate, gzip"]
        guard let decoder = ContentDecoder([encodings[Int(bytes[0]) % encodings.count]]) else { return }
        var (rest, received) = (bytes.dropFirst(2), 0)
        while !rest.isEmpty {
            let piece = rest.prefix(Int(bytes[1]) + 1)
            rest = rest.dropFirst(piece.count)
            let outcome = decoder.decode(UnsafeRawBufferPointer(rebasing: piece)) { decoded in
                received += decoded.count
                return received < 1 << 20
            }
            if case .done = outcome { continue }
            return
        }
    }

    /// The last line.
    private func target(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.split(separator: 10).last ?? [], as: UTF8.self)
    }

    /// A URL, a line feed, the Location of a redirect.
    private func urls(_ bytes: UnsafeRawBufferPointer) {
        let lines = bytes.split(separator: 10, maxSplits: 1)
        guard let first = lines.first, let url = try? SourceURL(String(decoding: first, as: UTF8.self)) else { return }
        _ = try? Origin(of: String(decoding: first, as: UTF8.self))
        if lines.count > 1 { _ = try? url.resolving(Array(lines[1])) }
    }
}

// MARK: - Names

extension FuzzTarget {
    private func keys(_ bytes: UnsafeRawBufferPointer) {
        for rules in [URLRules.ios17, .ios27] {
            _ = KeyURL(Array(bytes), rules: rules)?.replacingPath { $0.reversed() }
            _ = rules.absoluteString(of: text(bytes))
        }
        let key = CacheKey(text(bytes))
        for naming in CacheNamings.all {
            for name in naming.fileNames(of: key) { precondition(!name.contains("/") && name.utf8.count <= 255, name) }
        }
    }

    private func name(_ template: PathTemplate) {
        let naming = TemplateNaming(template)
        let key = CacheKey("https://host.example/../a%2f..%2fb/c.jpg?d#e")
        for name in naming.fileNames(of: key) { precondition(SafePath.isSafe(name), name) }
    }
}

// MARK: - Text

extension FuzzTarget {
    private func lists(_ bytes: UnsafeRawBufferPointer) {
        var parser = CSVParser(delimiter: UInt8(ascii: ","))
        var misspelt = MisspeltColumns()
        for line in Array(bytes).split(separator: 10) {
            _ = try? JSONListLine.item(line, 1, &misspelt)
            if (try? parser.add(line)) == nil { parser.restart() }
        }
    }

    private func feeds(_ document: [UInt8]) {
        _ = try? JSONFeed.images(of: document)
        let parser = FeedParser(nil)
        let middle = document.count / 2
        guard (try? parser.parse(Array(document[..<middle]), isLast: false)) != nil else { return }
        _ = try? parser.parse(Array(document[middle...]), isLast: true)
    }

    private func cron(_ text: String) {
        guard let zone = try? ZoneOffsets(json: #"[[0,3600],[1743296400,7200]]"#) else { return }
        _ = try? CronExpression(text).following(1_700_000_000, now: 1_760_000_000, in: zone)
    }

    private func variants(_ bytes: UnsafeRawBufferPointer) {
        _ = try? VariantShorthand.variant(text(bytes))
        _ = try? LoadContext(json: bytes)
        guard let pipeline = try? Pipeline(json: bytes) else { return }
        try? pipeline.validateSupported()
    }
}

// MARK: - The child's messages

extension FuzzTarget {
    private func request(_ message: [UInt8]) {
        _ = try? ChildSetup(message: message)
        _ = try? ChildRequest(message: message)
        _ = try? CoderLaunch(message: message)
    }

    private func reply(_ message: [UInt8]) {
        guard let reply = try? ChildMessage(message: message) else { return }
        _ = try? reply.message()
    }
}
