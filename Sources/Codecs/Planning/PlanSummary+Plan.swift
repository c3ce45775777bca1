internal import ImageModel
internal import Transcoder

extension PlanSummary {
    /// - Parameters:
    ///   - plan: the plan of the variants that are not copies.
    ///   - copies: whether each of `variants` is a copy of the original.
    init(_ plan: DecodePlan, _ header: SourceHeader, variants: [ImageModel.Variant], copies: [Bool]) {
        let drawn = variants.indices.filter { !copies[$0] }
        self.init(
            path: plan.path.rawValue, source: header, shrink: plan.shrink, decodedWidth: plan.base.width,
            decodedHeight: plan.base.height, frames: plan.frames,
            variants: variants.indices.map { index in
                guard let number = drawn.firstIndex(of: index) else {
                    return Variant(copyOf: header, variants[index].name)
                }
                return Variant(plan.outputs[number], variants[index].name) { variants[drawn[$0]].name }
            }, memoryBytes: plan.memoryBytes, milliseconds: plan.processorTime / .milliseconds(1))
    }
}

extension PlanSummary.Variant {
    fileprivate init(copyOf header: SourceHeader, _ name: String) {
        self.init(name: name, from: "copy")
        (width, height, format) = (header.uprightSize.width, header.uprightSize.height, header.format)
    }

    fileprivate init(
        _ planned: Result<PlannedOutput, TranscodeError>, _ name: String, nameOf: (Int) -> String
    ) {
        switch planned {
        case .failure(let error):
            self.init(name: name, from: "nothing")
            self.error = error.description
        case .success(let output):
            let from =
                switch output.start {
                case .base: "decoded image"
                case .ownProfile: "own profile"
                case .output(let number): "\"\(nameOf(number))\""
                }
            self.init(name: name, from: from)
            steps = output.steps.map(\.text)
            (width, height) = (output.drawing.size.width, output.drawing.size.height)
            trims = output.drawing.trimming != nil
            sameBytesAs = output.sameBytesAs.map(nameOf)
            set(output.encoding)
        }
    }

    private mutating func set(_ encoding: Encoding) {
        if encoding.others.isEmpty { format = encoding.format } else { formats = encoding.all.map(\.format) }
        replaced = encoding.replaced
        quality = encoding.all.lazy.compactMap(\.quality).first
        ssim = encoding.all.lazy.compactMap(\.ssim).first
        encode = encoding.options?.text
    }
}
