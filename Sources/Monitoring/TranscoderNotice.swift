package import ImageModel
package import Transcoder
import Worker

/// Reports, when a worker starts, what the kernel denies its transcoders and which formats they cannot write, or why
/// none can be started.
package struct TranscoderNotice: WorkerService {
    /// The pause before another child is tried.
    private static let pause = Duration.seconds(5)

    private let transcoders: TranscoderPool
    /// Called at most once, with the level and the formats; it must not block.
    private let write: @Sendable (SandboxLevel, [ImageFormat]) -> Void
    /// Called with each reason, and with nil once a child has started; it must not block.
    private let fail: @Sendable (TranscodeError?) -> Void

    package init(
        transcoders: TranscoderPool, write: @escaping @Sendable (SandboxLevel, [ImageFormat]) -> Void,
        fail: @escaping @Sendable (TranscodeError?) -> Void
    ) {
        (self.transcoders, self.write, self.fail) = (transcoders, write, fail)
    }

    package func run() async {
        while !Task.isCancelled {
            do throws(TranscodeError) {
                let level = try await transcoders.sandboxLevel()
                write(level, (try? await transcoders.missingEncoders()) ?? [])
                return fail(nil)
            } catch {
                if error.code != .cancelled { fail(error) }
            }
            try? await Task.sleep(for: Self.pause)
        }
    }
}
