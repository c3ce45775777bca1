import Foundation
import Glibc
import TestSupport
import Testing

/// The program on a kernel that lacks a part of the sandbox.
@Suite(.timeLimit(.minutes(5)))
struct IncompleteSandboxTests {
    private func command(
        _ scene: Scene, _ kernel: LimitedKernel, without part: LimitedKernel.Part, _ arguments: String...
    ) throws -> RunningCommand {
        let words = kernel.words(without: [part], [LarderCommand.executable] + arguments)
        return try RunningCommand(words[0], Array(words.dropFirst()), environment: scene.environment)
    }

    @Test func `doctor shows the level, which fails unless best effort is wanted`() async throws {
        let scene = try await Scene(), kernel = try await LimitedKernel()
        #expect(try await scene.larder("doctor").text.contains("ok   sandbox: full: seccomp and Landlock\n"))
        let failed = try await command(scene, kernel, without: .landlock, "doctor").outcome()
        #expect(failed.code == 1)
        #expect(
            failed.text.contains(
                "FAIL sandbox: without-landlock: the kernel or the container lacks Landlock, so images are refused; "
                    + "--sandbox best-effort decodes them\n"), "\(failed.text)")
        let warned = try await command(scene, kernel, without: .seccomp, "doctor", "--sandbox", "best-effort").outcome()
        #expect(warned.code == 0, "\(warned.text)")
        #expect(warned.text.contains("warn sandbox: without-seccomp: "), "\(warned.text)")
        #expect(warned.text.contains("warn transcoder: no network: not enforced\n"), "\(warned.text)")
    }

    @Test func `a worker says so at its start, and returns its jobs unharmed`() async throws {
        let scene = try await Scene(), kernel = try await LimitedKernel()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        _ = try await scene.larder("enqueue", "--batch", "b", url)
        let strict = try command(scene, kernel, without: .landlock, "work", "--listen", "127.0.0.1:0")
        #expect(
            await strict.reaches { text($0).contains("event=sandbox sandbox=without-landlock missing=Landlock") },
            "\(text(strict))")
        #expect(
            await strict.reaches { text($0).contains("event=local_fault error=\"the kernel or the container lacks") },
            "\(text(strict))")
        let port = try await ListeningWorker.port(of: strict)
        let refused = try await ListeningWorker.get(port, "/readyz")
        #expect(refused.status == 503, "\(refused.text)")
        #expect(refused.text.contains("\"sandbox\":\"without-landlock\""), "\(refused.text)")
        #expect(refused.text.contains("\"incomplete sandbox: no Landlock\""), "\(refused.text)")
        let metrics = try await ListeningWorker.get(port, "/metrics")
        #expect(metrics.value("larder_sandbox_info{level=\"without-landlock\"}") == 1)
        try await scene.until("EXISTS (SELECT FROM larder.health WHERE detail LIKE '%lacks Landlock%')")
        let lenient = try command(
            scene, kernel, without: .landlock, "work", "--sandbox", "best-effort", "--listen", "127.0.0.1:0")
        let second = try await ListeningWorker.port(of: lenient)
        #expect(
            try await reached {
                let page = try await ListeningWorker.get(second, "/readyz")
                return page.status == 200 && page.text.contains("\"sandbox\":\"without-landlock\"")
            })
        try await scene.until("(SELECT count(*) FROM larder.record WHERE outcome = 'succeeded' AND attempts = 1) = 1")
        for worker in [strict, lenient] { worker.signal(SIGTERM) }
        for worker in [strict, lenient] { #expect(await worker.outcome().code == 0) }
        #expect(text(lenient).contains("level=warning event=sandbox sandbox=without-landlock"))
        #expect(try await scene.faults().isEmpty)
    }

    private func text(_ work: RunningCommand) -> String { String(decoding: work.errorsSoFar, as: UTF8.self) }

    @Test func `transform names the option`() async throws {
        let scene = try await Scene(), kernel = try await LimitedKernel()
        let image = PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg", output = scene.directory.file("o.jpg")
        let arguments = [
            "transform", image, "-o", output, "--variant", #"{"name":"v","thumbnail":{"width":8,"height":8}}"#,
        ]
        func run(_ more: String...) async throws -> CommandOutcome {
            let words = kernel.words(without: [.seccomp], [LarderCommand.executable] + arguments + more)
            return try await RunningCommand(words[0], Array(words.dropFirst()), environment: scene.environment)
                .outcome()
        }
        let refused = try await run()
        #expect(refused.code == 1, "\(refused.errorText)")
        #expect(refused.errorText.contains("--sandbox best-effort"), "\(refused.errorText)")
        #expect(!FileManager.default.fileExists(atPath: output))
        #expect(try await run("--sandbox", "best-effort").code == 0)
    }
}
