/// The memory that one output takes, in bytes.
struct OutputBytes {
    /// Its pixels.
    var pixels = 0
    /// The copies of its steps, until it is encoded.
    var steps = 0
    var encoder = 0
    /// Whether its pixels may be kept for the digest.
    var isForDigest = false
    /// The pixels from which borders are cut, and what it takes to make them. They are the same for all outputs.
    var untrimmed = 0, untrimmedSource = 0
}

/// The most memory that is held at once while outputs are made one after another.
struct HeldBytes {
    private let outputs: [OutputBytes]
    private(set) var most = 0
    /// The smallest drawn output that may be kept for the digest.
    private var digest: Int?
    private var untrimmed = 0

    init(_ outputs: [OutputBytes]) { self.outputs = outputs }

    /// Draws an output and those that it starts from, encodes it, and forgets what no other one needs.
    mutating func make(_ number: Int, _ progress: inout OutputProgress) {
        for next in progress.drawings(for: number) {
            let bytes = outputs[next]
            if progress.trims(next), untrimmed == 0 {
                untrimmed = bytes.untrimmed
                hold(bytes.untrimmedSource, progress)
            }
            progress.draw(next)
            hold(bytes.steps, progress)
            if bytes.isForDigest, digest.map({ outputs[$0].pixels > bytes.pixels }) ?? true { digest = next }
        }
        hold(outputs[number].steps + outputs[number].encoder, progress)
        progress.finish(number)
        if !progress.needsTrimming { untrimmed = 0 }
    }

    /// Notes what is held in addition to `bytes` more.
    private mutating func hold(_ bytes: Int, _ progress: OutputProgress) {
        var held = progress.held
        if let digest { held.insert(digest) }
        most = max(most, untrimmed + bytes + held.reduce(0) { $0 + outputs[$1].pixels })
    }
}
