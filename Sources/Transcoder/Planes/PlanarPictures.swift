internal import ImageModel

/// The decoded planes and what was drawn from them, as far as something is still drawn from that: what `Pictures` is to
/// libvips.
final class PlanarPictures {
    private let plan: DecodePlan
    private let base: PlanarPicture
    private var drawn: [Int: PlanarPicture] = [:]
    /// The smallest picture at hand that shows all of the original and is large enough for a digest.
    private var smallestWhole: PlanarPicture

    /// Decodes the picture all variants are drawn from: once, shrunk to the largest need, upright.
    ///
    /// - Throws: `PlaneFailure` as decoding does.
    init(_ plan: DecodePlan, _ file: borrowing SourceFile, _ header: SourceHeader) throws(PlaneFailure) {
        self.plan = plan
        let stored = try PlanarPicture(decoding: file.bytes, header, shrink: plan.shrink)
        var view = PlaneView(whole: plan.base)
        view.mirrorsColumns = [2, 3, 7, 8].contains(header.orientation)
        view.mirrorsRows = [3, 4, 6, 7].contains(header.orientation)
        let shrunk = try stored.drawn(view, chroma: plan.chroma)
        base = header.orientation >= 5 ? try shrunk.transposed() : shrunk
        smallestWhole = base
    }

    /// The pixels of an output; kept for those that begin from them.
    func draw(_ number: Int, _ output: PlannedOutput) throws(PlaneFailure) -> PlanarPicture {
        var (source, steps) = (base, output.drawing.steps)
        // Where that one failed, it is drawn in full.
        if case .output(let other) = output.start, let made = drawn[other] { (source, steps) = (made, output.steps) }
        guard let view = PlaneView(steps, of: source.size) else {
            throw PlaneFailure(message: "the plan asks for more than planes can give")
        }
        let picture = try source.drawn(view, chroma: plan.chroma)
        if plan.outputs.contains(where: { (try? $0.get())?.start == .output(number) }) { drawn[number] = picture }
        let size = picture.size
        if output.drawing.isPlainScale, min(size.width, size.height) >= VipsDigester.side,
            size.area < smallestWhole.size.area
        {
            smallestWhole = picture
        }
        return picture
    }

    /// The bytes of a picture that `draw` has made.
    func encode(
        _ picture: PlanarPicture, _ encoding: Encoding, quality: Int?
    ) throws(PlaneFailure) -> EncodedPlanes {
        try picture.encoded(encoding.format, quality: quality ?? 0, chroma: plan.chroma)
    }

    /// A digest of the original.
    func digest(_ header: SourceHeader) throws(PlaneFailure) -> ImageDigest {
        try PlaneDigester(source: smallestWhole).digest(header)
    }
}
