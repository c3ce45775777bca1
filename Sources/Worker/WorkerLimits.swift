internal import ImageModel
internal import JobQueue

/// The limits of a worker that an image may exceed on one worker and not on another.
package struct WorkerLimits: Sendable, Equatable {
    /// Bytes of memory that a transcoder may take.
    package var memory: Int64
    /// Milliseconds of processor time: the soft and the hard limit together, so that raising either raises it.
    package var time: Int64

    /// Limits in bytes and milliseconds.
    package init(memory: Int64, time: Int64) {
        self.memory = memory
        self.time = time
    }

    /// The limit that a failure exceeded; nil for a failure of another kind.
    func limit(of failure: FailureCode) -> Int64? {
        switch failure {
        case .memoryExceeded: memory
        case .timeExceeded: time
        default: nil
        }
    }

    /// Whether this worker may load an image that exceeded `limit` elsewhere.
    func exceeds(_ limit: ExceededLimit) -> Bool {
        guard let own = self.limit(of: FailureCode(domain: FailureCode.Domain.larder, code: limit.code)) else {
            return false
        }
        return own > limit.value
    }
}
