internal import ImageModel
internal import JobQueue

/// Limits on an image that differ between workers.
package struct WorkerLimits: Sendable, Equatable {
    /// Bytes of memory for a transcoder.
    package var memory: Int64
    /// Milliseconds of processor time: soft plus hard limit, so that raising either raises it.
    package var time: Int64

    package init(memory: Int64, time: Int64) {
        self.memory = memory
        self.time = time
    }

    /// The limit that the failure exceeded; nil for other failures.
    func limit(of failure: FailureCode) -> Int64? {
        switch failure {
        case .memoryExceeded: memory
        case .timeExceeded: time
        default: nil
        }
    }

    /// True if this worker may load an image that exceeded `limit` elsewhere.
    func exceeds(_ limit: ExceededLimit) -> Bool {
        guard let own = self.limit(of: FailureCode(domain: FailureCode.Domain.larder, code: limit.code)) else {
            return false
        }
        return own > limit.value
    }
}
