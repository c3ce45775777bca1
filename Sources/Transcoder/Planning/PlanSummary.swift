public import ImageModel

/// How a picture would be made into its variants, and about what it would cost: for people and for `larder plan`.
public struct PlanSummary: Sendable, Hashable, Encodable {
    /// One variant of it.
    public struct Variant: Sendable, Hashable, Encodable {
        /// The variant's name.
        public let name: String
        /// Where its pixels begin: `decoded picture`, `own profile`, the name of another variant in quotes, or `copy`
        /// of an animation's bytes.
        public let from: String
        /// What is done to them, one text a step.
        public let steps: [String]
        /// The size written, in pixels; nil where nothing is.
        public let width, height: Int?
        /// The format written.
        public let format: ImageFormat?
        /// The format wanted, where it cannot be written.
        public let replaced: ImageFormat?
        /// 0…100, for formats that have one; the highest where there is a limit on bytes.
        public let quality: Int?
        /// The variant whose bytes it shares.
        public let sameBytesAs: String?
        /// Why it cannot be had.
        public let error: String?
    }

    /// What makes the pixels: `libvips`, or `planes`, the faster one.
    public let path: String
    /// The original as its header has it.
    public let source: SourceHeader
    /// How far libjpeg shrinks while it decodes: 1, 2, 4 or 8.
    public let shrink: Int
    /// The size held in memory, as stored.
    public let decodedWidth, decodedHeight: Int
    /// Frames decoded.
    public let frames: Int
    /// The variants, in their order.
    public let variants: [Variant]
    /// About the memory it takes beyond that of an idle child, in bytes.
    public let memoryBytes: Int
    /// About the processor time, in milliseconds; measured on one machine, so for comparisons.
    public let milliseconds: Double

    /// - Parameters:
    ///   - plan: that of the variants that are no copies.
    ///   - copies: whether each of `variants` is a copy of an animation.
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

    /// The summary in lines for people.
    public var lines: [String] {
        let shrinking = shrink > 1 ? ", shrunk to 1/\(shrink) while decoding" : ""
        let count = frames > 1 ? ", \(frames) frames" : ""
        let about = "about \(Int(milliseconds.rounded())) ms of processor time, \(memoryBytes >> 20) MiB"
        return [
            "\(source.format.name) \(source.width)×\(source.height)\(count), by \(path): \(about)",
            "decoded to \(decodedWidth)×\(decodedHeight)\(shrinking)",
        ] + variants.map(\.line)
    }
}

extension PlanSummary.Variant {
    fileprivate init(copyOf header: SourceHeader, _ name: String) {
        self.init(
            name: name, from: "copy", steps: [], width: header.uprightSize.width, height: header.uprightSize.height,
            format: header.format, replaced: nil, quality: nil, sameBytesAs: nil, error: nil)
    }

    fileprivate init(
        _ planned: Result<PlannedOutput, TranscodeError>, _ name: String, nameOf: (Int) -> String
    ) {
        switch planned {
        case .failure(let error):
            self.init(
                name: name, from: "nothing", steps: [], width: nil, height: nil, format: nil, replaced: nil,
                quality: nil, sameBytesAs: nil, error: error.description)
        case .success(let output):
            let from =
                switch output.start {
                case .base: "decoded picture"
                case .ownProfile: "own profile"
                case .output(let number): "\"\(nameOf(number))\""
                }
            self.init(
                name: name, from: from, steps: output.steps.map(\.text), width: output.drawing.size.width,
                height: output.drawing.size.height, format: output.encoding.format,
                replaced: output.encoding.replaced, quality: output.encoding.quality,
                sameBytesAs: output.sameBytesAs.map(nameOf), error: nil)
        }
    }

    fileprivate var line: String {
        if let error { return "\(name): \(error)" }
        if let sameBytesAs { return "\(name): the bytes of \"\(sameBytesAs)\"" }
        let way = ([from == "copy" ? "copy of the original" : "from \(from)"] + steps).joined(separator: " → ")
        let size = "\(width ?? 0)×\(height ?? 0)"
        let written = [format?.name, quality.map { "quality \($0)" }, replaced.map { "in place of \($0.name)" }]
        return "\(name): \(way) → \(written.compactMap { $0 }.joined(separator: ", ")), \(size)"
    }
}

extension DrawStep {
    /// `scale to 200×100`, for people.
    var text: String {
        switch self {
        case .scale(let size): "scale to \(size.width)×\(size.height)"
        case .crop(let rect): "crop \(rect.width)×\(rect.height) at \(rect.x),\(rect.y)"
        case .place(let x, let y, let canvas): "place at \(x),\(y) on \(canvas.width)×\(canvas.height)"
        case .clear(let canvas): "clear \(canvas.width)×\(canvas.height)"
        case .mirror(let horizontal, let vertical):
            "mirror "
                + [horizontal ? "left-right" : nil, vertical ? "top-bottom" : nil].compactMap { $0 }
                .joined(separator: " and ")
        case .quarters(let count): "turn \(count * 90)° left"
        case .turn(let radians, let canvas): "turn \(radians) on \(canvas.width)×\(canvas.height)"
        case .round: "round corners"
        case .tint(let color, let mode): "tint \(color.text) \(mode.name)"
        case .blur(let box): "blur by three boxes of \(box)"
        case .filter(let filter): "filter \(filter.text)"
        }
    }
}
