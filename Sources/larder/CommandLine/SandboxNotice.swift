import Transcoder
import Worker

/// Reports once, when a worker starts, what the kernel denies its transcoders.
struct SandboxNotice: WorkerService {
    let transcoders: TranscoderPool
    /// Called with the level; it must not block.
    let write: @Sendable (SandboxLevel) -> Void

    /// A child that cannot be started is reported with the first image that needs one.
    func run() async {
        if let level = try? await transcoders.sandboxLevel() { write(level) }
    }
}
