public import ImageModel

/// A plan as `larder transform --explain` prints it: the steps of each variant, and the estimated cost.
public struct PlanSummary: Sendable, Hashable, Encodable {
    /// One variant of the plan.
    public struct Variant: Sendable, Hashable, Encodable {
        /// The variant's name.
        public let name: String
        /// The source of its pixels: `decoded image`, `own profile`, the name of another variant in quotes, or `copy`
        /// of the original's bytes.
        public let from: String
        /// The steps, one text each.
        public var steps: [String] = []
        /// The size written, in pixels; nil when nothing is written. With a trim the most that it can be.
        public var width, height: Int?
        /// Whether a border is cut, whose width only the pixels show.
        public var trims = false
        /// The format written; nil where it is chosen among `formats`.
        public var format: ImageFormat?
        /// The formats of which the smallest file is written; nil where there is one.
        public var formats: [ImageFormat]?
        /// The requested format, when another is written.
        public var replaced: ImageFormat?
        /// 0…100, for formats that have one; the highest when there is a limit on bytes.
        public var quality: Int?
        /// The structural similarity that the lowest possible quality is to have.
        public var ssim: Double?
        /// The settings of the encoder, `effort=6,lossless=true`; nil for its usual ones.
        public var encode: String?
        /// The variant that has the same bytes.
        public var sameBytesAs: String?
        /// The reason why it cannot be made.
        public var error: String?
    }

    /// The decoder of the pixels: `libvips`, or `planes`, which is faster.
    public let path: String
    /// The header of the original.
    public let source: SourceHeader
    /// libjpeg's shrink factor while it decodes: 1, 2, 4 or 8.
    public let shrink: Int
    /// The size held in memory, as stored.
    public let decodedWidth, decodedHeight: Int
    /// Frames decoded.
    public let frames: Int
    /// The variants, in their order.
    public let variants: [Variant]
    /// The memory it takes beyond that of an idle child, in bytes; estimated.
    public let memoryBytes: Int
    /// The processor time in milliseconds, estimated from measurements on one machine: for comparing plans.
    public let milliseconds: Double

    /// - Parameters:
    ///   - plan: the plan of the variants that are not copies.
    ///   - copies: whether each of `variants` is a copy of the original.
    init(_ plan: DecodePlan, _ header: SourceHeader, variants: [ImageModel.Variant], copies: [Bool]) {
        path = plan.path.rawValue
        source = header
        shrink = plan.shrink
        decodedWidth = plan.base.width
        decodedHeight = plan.base.height
        frames = plan.frames
        memoryBytes = plan.memoryBytes
        milliseconds = plan.processorTime / .milliseconds(1)
        let drawn = variants.indices.filter { !copies[$0] }
        self.variants = variants.indices.map { index in
            guard let number = drawn.firstIndex(of: index) else { return Variant(copyOf: header, variants[index].name) }
            return Variant(plan.outputs[number], variants[index].name) { variants[drawn[$0]].name }
        }
    }

    /// The summary as lines of text.
    public var lines: [String] {
        let shrinking = shrink > 1 ? ", shrunk to 1/\(shrink) while decoding" : ""
        let count = frames > 1 ? ", \(frames) frames" : ""
        let estimate = "about \(Int(milliseconds.rounded())) ms of processor time, \(memoryBytes >> 20) MiB"
        return [
            "\(source.format.name) \(source.storedSize.text)\(count), by \(path): \(estimate)",
            "decoded to \(decodedWidth)×\(decodedHeight)\(shrinking)",
        ] + variants.map(\.line)
    }
}

extension PlanSummary.Variant {
    fileprivate init(copyOf header: SourceHeader, _ name: String) {
        let size = header.uprightSize
        self.init(name: name, from: "copy", width: size.width, height: size.height, format: header.format)
    }

    fileprivate init(
        _ planned: Result<PlannedOutput, TranscodeError>, _ name: String, nameOf: (Int) -> String
    ) {
        switch planned {
        case .failure(let error): self.init(name: name, from: "nothing", error: error.description)
        case .success(let output):
            let from =
                switch output.start {
                case .base: "decoded image"
                case .ownProfile: "own profile"
                case .output(let number): "\"\(nameOf(number))\""
                }
            let size = output.drawing.size, encoding = output.encoding
            let formats = encoding.others.isEmpty ? nil : encoding.all.map(\.format)
            self.init(
                name: name, from: from, steps: output.steps.map(\.text), width: size.width, height: size.height,
                trims: output.drawing.trimming != nil, format: formats == nil ? encoding.format : nil, formats: formats,
                replaced: encoding.replaced,
                quality: encoding.all.lazy.compactMap(\.quality).first,
                ssim: encoding.all.lazy.compactMap(\.ssim).first, encode: encoding.options?.text,
                sameBytesAs: output.sameBytesAs.map(nameOf))
        }
    }

    fileprivate var line: String {
        if let error { return "\(name): \(error)" }
        if let sameBytesAs { return "\(name): the bytes of \"\(sameBytesAs)\"" }
        let way = ([from == "copy" ? "copy of the original" : "from \(from)"] + steps).joined(separator: " → ")
        let size = "\(trims ? "at most " : "")\(width ?? 0)×\(height ?? 0)"
        let written = [
            format?.name, formats.map { "the smallest of \($0.map(\.name).joined(separator: ", "))" },
            quality.map { "quality \($0)" }, ssim.map { "ssim \($0)" }, encode,
            replaced.map { "instead of \($0.name)" },
        ]
        return "\(name): \(way) → \(written.compactMap(\.self).joined(separator: ", ")), \(size)"
    }
}
