import Foundation
import TestSupport
import Testing

/// The program on a machine whose libvips lacks a module, as without libheif's plugins of encoders.
@Suite(.enabled(if: Privilege.mayMount, "needs to be root and to mount"), .timeLimit(.minutes(5)))
struct MissingEncoderTests {
    /// `larder` in a mount namespace in which libvips cannot load its module of HEIC and AVIF.
    private func withoutHEIF(_ scene: Scene, _ arguments: String...) throws -> RunningCommand {
        try RunningCommand(
            "unshare",
            [
                "-m", "sh", "-c",
                "for f in /usr/lib/*/vips-modules-*/vips-heif.so; do mount --bind /dev/null $f; done; "
                    + "exec \"$0\" \"$@\"", LarderCommand.executable,
            ] + arguments,
            environment: scene.environment.merging(["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]) { $1 })
    }

    @Test func `doctor names the formats that are not written, with the packages of their encoders`() async throws {
        let scene = try await Scene()
        let whole = try await scene.larder("doctor").text
        #expect(whole.contains("\nok   write: avif gif heic jpeg jxl png tiff webp\n"), "\(whole)")
        let outcome = try await withoutHEIF(scene, "doctor").outcome()
        #expect(
            outcome.text.contains(
                "\nwarn write: gif jpeg jxl png tiff webp; missing, written as PNG or JPEG: "
                    + "avif (install libheif-plugin-aomenc), heic (install libheif-plugin-x265)\n"), "\(outcome.text)")
    }

    @Test func `a worker without an encoder is ready, and its probe and its log name the formats`() async throws {
        let scene = try await Scene()
        let worker = try withoutHEIF(scene, "work", "--listen", "127.0.0.1:0")
        let port = try await ListeningWorker.port(of: worker)
        #expect(
            try await reached {
                let page = try await ListeningWorker.get(port, "/readyz")
                return page.status == 200 && page.text.contains(#""missingEncoders":["avif","heic"]"#)
            })
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
        let log = String(decoding: worker.errorsSoFar, as: UTF8.self)
        #expect(log.contains("level=warning event=encoders missing=\"avif heic\""), "\(log)")
    }
}
