internal import ImageModel
internal import Transcoder

/// Which outputs of a plan are drawn and finished. Determines, for estimates and work alike, what to draw next, how
/// long it takes and which pixels are kept.
struct OutputProgress: Sendable {
    /// Nil if it cannot be made.
    private let outputs: [PlannedOutput?]
    private let costs: [OutputCost]
    private var drawn: Set<Int> = []
    private var finished: Set<Int> = []

    /// The progress before anything is drawn.
    init(_ outputs: [Result<PlannedOutput, TranscodeError>], _ costs: [OutputCost]) {
        self.outputs = outputs.map { try? $0.get() }
        self.costs = costs
    }

    /// The outputs to draw before `number` can be encoded, each after the one that it starts from; `number` last.
    func drawings(for number: Int) -> [Int] {
        guard !drawn.contains(number) else { return [] }
        var numbers = [number]
        while let start = start(of: numbers[0]), !drawn.contains(start) { numbers.insert(start, at: 0) }
        return numbers
    }

    /// Records that an output was drawn, or could not be.
    mutating func draw(_ number: Int) { drawn.insert(number) }

    /// Records that an output was written, or could not be.
    mutating func finish(_ number: Int) { finished.insert(number) }

    /// Drawn outputs that are still to be encoded, or from which undrawn outputs start.
    var held: Set<Int> { drawn.filter { !finished.contains($0) || isNeeded($0) } }

    /// Whether an undrawn output begins with a trim of the decoded image.
    var needsTrimming: Bool { outputs.indices.contains { trims($0) && isAwaited($0) } }

    /// Whether an output begins with a trim of the decoded image.
    func trims(_ number: Int) -> Bool { outputs[number]?.drawing.trimming != nil && start(of: number) == nil }

    /// The remaining time of an output, for the slowest images: drawing it and its starts, unless done, and encoding it
    /// once.
    func time(for number: Int) -> Duration {
        .nanoseconds(Int64(drawingNanoseconds(for: number) + costs[number].slowestEncoding))
    }

    /// The same for usual images, with every file of a search.
    func usualNanoseconds(for number: Int) -> Double { drawingNanoseconds(for: number) + costs[number].encodings }

    private func drawingNanoseconds(for number: Int) -> Double {
        drawings(for: number).reduce(0) { $0 + costs[$1].drawing + (isTrimmed($1) ? 0 : costs[$1].trimming) }
    }

    /// Whether an output has the same border as a drawn one.
    private func isTrimmed(_ number: Int) -> Bool {
        guard trims(number), let output = outputs[number] else { return false }
        return drawn.contains { other in
            trims(other) && outputs[other]?.drawing.trimming?.trim == output.drawing.trimming?.trim
                && outputs[other]?.start == output.start
        }
    }

    /// The output that another one starts from. Outputs that reuse bytes are not drawn.
    private func start(of number: Int) -> Int? {
        guard case .output(let start)? = outputs[number]?.start, let output = outputs[start], output.sameBytesAs == nil
        else { return nil }
        return start
    }

    private func isNeeded(_ number: Int) -> Bool {
        outputs.indices.contains { start(of: $0) == number && isAwaited($0) }
    }

    /// Whether an output is still to be drawn, possibly only because another one starts from it.
    private func isAwaited(_ number: Int) -> Bool {
        guard let output = outputs[number], output.sameBytesAs == nil, !drawn.contains(number) else { return false }
        return !finished.contains(number) || isNeeded(number)
    }
}
