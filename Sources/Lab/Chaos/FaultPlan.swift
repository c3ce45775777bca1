/// The fault timeline of one run, determined by seed, length and kinds.
///
/// Each kind is injected once before any is repeated. After that, stretches of 20 s with one fault at a time alternate
/// with stretches of overlapping faults, with kinds drawn by weight.
struct FaultPlan: Equatable, Sendable {
    struct Injection: Equatable, Sendable {
        let kind: FaultKind
        /// Seconds after the start of the run.
        let start: Double
        /// Between `start` and the end of the run.
        let end: Double
        let target: Int
        /// From 0 up to 1: the strength of a delay or step.
        let strength: Double
    }

    let injections: [Injection]

    /// Seconds before the first fault.
    static let warmUp = 2.0
    private static let stretch = 20.0

    init(seed: UInt64, seconds: Double, kinds: [FaultKind]) {
        var random = SeededRandom(seed: seed)
        var made: [Injection] = []
        var freeAt: [String: Double] = [:]
        var time = Self.warmUp
        var deck: [FaultKind] = kinds.shuffled(using: &random)
        var firstRound = deck.count
        // In the first round, short enough for each kind to have its turn.
        let pace = min(2.0, max(0.1, (seconds - 2 * Self.warmUp) / Double(max(1, kinds.count))))
        while !kinds.isEmpty, time < seconds - 1 {
            if deck.isEmpty {
                deck = kinds.flatMap { Array(repeating: $0, count: $0.weight) }.shuffled(using: &random)
            }
            let kind = deck.removeFirst()
            let start = max(time, freeAt[kind.group] ?? 0)
            let length = Double.random(in: kind.duration, using: &random)
            let (target, strength) = (
                Int.random(in: 0..<1_000_000, using: &random), Double.random(in: 0..<1, using: &random)
            )
            let gap = Double.random(in: 0.4...1.6, using: &random) * pace
            let end = min(seconds, start + length)
            if start < seconds - 1 {
                made.append(Injection(kind: kind, start: start, end: end, target: target, strength: strength))
                // A server needs a moment to recover before it is stopped again.
                freeAt[kind.group] = end + 1
            }
            let overlaps = firstRound > 0 || Int(time / Self.stretch).isMultiple(of: 2)
            firstRound -= 1
            time = (overlaps ? time : max(time, made.map(\.end).max() ?? time)) + gap
        }
        injections = made.sorted { $0.start < $1.start }
    }
}
