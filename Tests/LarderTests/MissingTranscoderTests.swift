import Foundation
import TestSupport
import Testing

/// `larder` without `larder-transcoder`, the program of its transcoders.
@Suite(.timeLimit(.minutes(5)))
struct MissingTranscoderTests {
    @Test func `doctor names the path of the missing program`() async throws {
        let scene = try await Scene()
        var doctor = scene.larder(["doctor"])
        doctor.environment["LARDER_TRANSCODER"] = "/nowhere/larder-transcoder"
        let outcome = try await doctor.run()
        #expect(outcome.code == 1)
        #expect(
            outcome.text.contains("\nFAIL transcoder: 501 /nowhere/larder-transcoder cannot be started (errno 2)\n"),
            "\(outcome.text)")
    }

    @Test(arguments: [["run", "http://127.0.0.1:9/a.jpg", "--quiet"], ["work", "--drain", "--quiet"]])
    func `a command that ends fails before it enqueues or claims`(words: [String]) async throws {
        let scene = try await Scene()
        var command = scene.larder(words)
        command.environment["LARDER_TRANSCODER"] = "/nowhere/larder-transcoder"
        let outcome = try await command.run()
        #expect(outcome.code == 1)
        #expect(outcome.errorText == "larder: /nowhere/larder-transcoder cannot be started (errno 2)\n")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.batch") == "0")
    }

    @Test func `a worker is not ready until the program is there`() async throws {
        let scene = try await Scene(), program = scene.directory.file("larder-transcoder")
        var work = scene.larder(["work", "--listen", "127.0.0.1:0"])
        work.environment["LARDER_TRANSCODER"] = program
        let worker = try work.start(), port = try await ListeningWorker.port(of: worker)
        let reason = "\"no transcoder: \(program) cannot be started (errno 2)\""
        #expect(
            try await reached {
                let page = try await ListeningWorker.get(port, "/readyz")
                return page.status == 503 && page.text.replacing("\\/", with: "/").contains(reason)
            })
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: Products.transcoder)
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 200 })
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test func `nothing but the transcoder maps the libraries of codecs`() async throws {
        let libraries = ["libvips", "libjpeg", "libwebp", "libavif", "libspng"]
        for (program, expected) in [(LarderCommand.executable, false), (Products.transcoder, true)] {
            let mapped = try await SystemTool.run(["ldd", program])
            for library in libraries { #expect(mapped.contains(library + ".so") == expected, "\(program): \(library)") }
        }
    }
}
