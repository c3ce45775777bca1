internal import ImageModel

/// One variant in a plan: where its pixels come from, what is done to them, and how they are written.
package struct PlannedOutput: Sendable, Hashable {
    /// Where the steps begin.
    package enum Start: Sendable, Hashable {
        /// The decoded picture.
        case base
        /// The picture decoded once more, with its own colours.
        case ownProfile
        /// The pixels of another variant, which then has steps of its own.
        case output(Int)
    }

    /// The drawing as the variant asks for it.
    package let drawing: Drawing
    package private(set) var start: Start
    /// What to do from the start on; empty where another variant has just these pixels.
    package private(set) var steps: [DrawStep]
    package let encoding: Encoding
    /// The variant whose bytes this one has, too.
    package private(set) var sameBytesAs: Int?

    private init(_ drawing: Drawing, _ encoding: Encoding) {
        self.drawing = drawing
        self.encoding = encoding
        start = encoding.keepICC ? .ownProfile : .base
        steps = drawing.steps
    }

    /// All variants of a plan, and the order of making them.
    static func all(
        _ variants: [Variant], _ drawings: [Result<Drawing, TranscodeError>], of header: SourceHeader,
        writable: Set<ImageFormat>
    ) -> (outputs: [Result<PlannedOutput, TranscodeError>], order: [Int]) {
        var outputs = zip(variants, drawings).map { variant, drawing in
            drawing.map { PlannedOutput($0, Encoding(variant, $0, of: header, writable: writable)) }
        }
        // The larger first, so that smaller ones find what they can be drawn from.
        let order = outputs.indices.filter { (try? outputs[$0].get()) != nil }.sorted { one, other in
            let (first, second) = (
                try? outputs[one].get().drawing.size.area, try? outputs[other].get().drawing.size.area
            )
            return (first ?? 0, other) > (second ?? 0, one)
        }
        for (place, index) in order.enumerated() {
            guard case .success(var output) = outputs[index] else { continue }
            for earlier in order[..<place] {
                guard case .success(let candidate) = outputs[earlier] else { continue }
                output.reuse(candidate, number: earlier)
            }
            outputs[index] = .success(output)
        }
        return (outputs, order)
    }

    /// Takes bytes or pixels from a larger variant where that gives the same, or as good.
    private mutating func reuse(_ other: PlannedOutput, number: Int) {
        guard sameBytesAs == nil else { return }
        guard !encoding.isAnimated, !other.encoding.isAnimated,
            encoding.keepICC == other.encoding.keepICC
        else {
            if encoding == other.encoding && drawing.steps == other.drawing.steps {
                sameBytesAs = other.sameBytesAs ?? number
            }
            return
        }
        if drawing.steps == other.drawing.steps {
            if encoding == other.encoding { sameBytesAs = other.sameBytesAs ?? number }
            if !steps.isEmpty { (start, steps) = (.output(number), []) }
            return
        }
        // At five eighths of the size or less, two resamplings look as one, as docs/formats.md measures.
        guard !steps.isEmpty, other.drawing.isPlainScale, let first = drawing.firstScale,
            case .scale = drawing.steps.first,
            first.width * 8 <= other.drawing.size.width * 5, first.height * 8 <= other.drawing.size.height * 5
        else { return }
        (start, steps) = (.output(number), drawing.steps)
    }
}

extension Variant {
    /// Whether the variant is a copy of an animation's bytes, as nothing else is asked for.
    func isCopy(of header: SourceHeader, transformsAnimated: Bool) -> Bool {
        header.isAnimated && !transformsAnimated && !everyFrame
    }
}
