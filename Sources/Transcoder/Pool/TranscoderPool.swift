internal import Executors

/// The transcoder children of one process: pictures go in as descriptors, variants come out in files.
///
/// A child that dies, hangs or grows too big is killed and replaced; it costs the picture it held and nothing else.
public final class TranscoderPool: Sendable {
    /// How children are started and when they are replaced.
    public struct Configuration: Sendable {
        /// Children at work at most, each with one picture; default 2.
        public var count = 2
        /// The program a child runs; default this program itself.
        public var executable = "/proc/self/exe"
        /// Its arguments; default the hidden command `transcoder`.
        public var arguments = ["transcoder"]
        /// What one picture may cost.
        public var limits = TranscodeLimits()
        /// A child is replaced after this many pictures; default 500.
        public var picturesPerChild = 500
        /// A child that holds more memory than this between two pictures is replaced, in bytes; default 256 MiB.
        public var idleResidentBytes = 256 << 20

        /// The defaults.
        public init() {}
    }

    /// Starts nothing yet: children come with the pictures.
    public init(configuration: Configuration = Configuration()) {
    }

    /// The process ids of the children now alive.
    public var children: [Int32] { [] }

    /// Makes the variants of one picture. Waits for a child; how many wait is the callers' business.
    ///
    /// Cancelling the task kills the child.
    ///
    /// - Throws: `TranscodeError` when nothing could be made: 1001, 202…206, 301, or 2002 when cancelled. A variant
    ///   that failed alone is a failure in the report (203, 205, 401, 402, 403).
    public func transcode(_ request: TranscodeRequest) async throws(TranscodeError) -> TranscodeReport {
        throw TranscodeError(.died, "not started")
    }

    /// Reads a picture's header through a child.
    ///
    /// - Throws: `TranscodeError` as `transcode` does.
    public func probe(_ source: Int32) async throws(TranscodeError) -> SourceHeader {
        throw TranscodeError(.died, "not started")
    }

    /// What the codecs of this machine really do, for `larder doctor`.
    ///
    /// - Throws: `TranscodeError` 301 when no child can be started.
    public func selfTest() async throws(TranscodeError) -> CodecReport {
        throw TranscodeError(.died, "not started")
    }

    /// Kills all children; those at work answer 301. Requests after it answer 2002.
    public func shutdown() async {}
}
