package import ImageModel
package import Transcoder
import Worker

/// Reports at a worker's start its transcoders' sandbox level and missing output formats, or why none can be started.
package struct TranscoderNotice: WorkerService {
    /// Pause before trying another child.
    private static let pause = Duration.seconds(5)

    private let transcoders: TranscoderPool
    /// Called at most once, with the level and the formats; must not block.
    private let write: @Sendable (SandboxLevel, [ImageFormat]) -> Void
    /// Called with each reason, and with nil once a child has started; must not block.
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
