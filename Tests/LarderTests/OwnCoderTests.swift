import Foundation
import TestSupport
import Testing

/// `[coders.NAME]` of a configuration file, from the URL to the stored files.
@Suite(.timeLimit(.minutes(5)))
struct OwnCoderTests {
    /// The fields of the examples in docs/images.md.
    private static func example(_ name: String) throws -> String {
        let page = try String(contentsOfFile: PackageRoot.path + "/docs/images.md", encoding: .utf8)
        let blocks = page.components(separatedBy: "```toml\n").dropFirst()
        let block = try #require(blocks.first { $0.hasPrefix("[coders.\(name)]") })
        return block.components(separatedBy: "```")[0]
    }

    private static func command(_ scene: Scene, _ text: String, _ words: String...) throws -> LarderCommand {
        try scene.directory.write(text.utf8, to: "coders.toml")
        return scene.larder(words + ["--config", scene.directory.file("coders.toml")])
    }

    private static let made = """
        [coders.broken]
        signature = "4d414445"
        command = ["/bin/sh", "-c", "echo cannot read it >&2; exit 1"]
        [coders.made]
        signature = "4d41444555@0"
        media-type = "image/x-made"
        command = ["/usr/bin/tail", "-c", "+7", "/dev/stdin"]
        """

    @Test
    func `a job's original in an own format is stored, and its variants are drawn from the picture`() async throws {
        let scene = try await Scene()
        let file = Array("MADEUP".utf8) + (try TestImage.bytes("rgb.png")), url = scene.origin.url("/a.made")
        scene.origin.on("/a.made", .body(file))
        scene.origin.on("/b.made", .body(Array("MADE of nothing".utf8)))
        let broken = scene.origin.url("/b.made")
        let outcome = try await Self.command(
            scene, Self.made, "run", "--json", "--variant", Variants.small, url, broken,
            try scene.serve("plain.jpg", at: "/c.jpg")
        ).run()
        #expect(outcome.code == 1, "\(outcome.text)\(outcome.errorText)")
        let lines = try RunLines(outcome)
        #expect(try lines.job(url).outcome == "succeeded")
        #expect(try scene.bytes(try lines.job(url).original?.path) == file)
        #expect(try lines.failure(broken).kind == "SDWebImageErrorDomain 1001")
        #expect(try lines.failure(broken).message.contains("the coder 'broken' exited with code 1: cannot read it"))
        #expect(lines.report.succeeded == 2, "the worker goes on")
        let format = try await scene.sql(
            "SELECT format FROM larder.stored_file WHERE url = '\(url)' AND variant IS NULL")
        #expect(format == "made")
        let verified = try await Self.command(scene, Self.made, "cache", "verify").run()
        #expect(verified.code == 0, "\(verified.text)")
        let unknown = try await scene.larder("cache", "verify", "--remove", "--yes")
        #expect(unknown.code == 0, "\(unknown.text)")
        #expect(unknown.text.contains("1 of unknown format: no fault"), "\(unknown.text)")
        #expect(try scene.bytes(try lines.job(url).original?.path) == file)
    }

    @Test func `a program that is no file is found by config check and doctor, and concerns only its jobs`()
        async throws
    {
        let scene = try await Scene()
        let text = "[coders.gone]\nsignature = \"4d414445\"\ncommand = [\"/usr\"]\n"
        let checked = try await Self.command(scene, text, "config", "check").run()
        #expect(checked.code == 2)
        #expect(checked.text.contains("coders.gone.command: there is no program /usr"), "\(checked.text)")
        let doctor = try await Self.command(scene, text, "doctor").run()
        #expect(doctor.text.contains("FAIL coder gone: /usr"), "\(doctor.text)")
        scene.origin.on("/a.made", .body(Array("MADE".utf8)))
        let urls = try [scene.origin.url("/a.made"), scene.serve("plain.jpg", at: "/b.jpg")]
        #expect(try await scene.larder(["enqueue"] + urls).run().code == 0)
        let worked = try await Self.command(scene, text, "work", "--drain").run()
        #expect(worked.code == 4, "\(worked.text)\(worked.errorText)")
        #expect(worked.errorText.contains("coders.gone"), "\(worked.errorText)")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job_history") == "1")
    }

    @Test func `a context names a coder that the file has, and run refuses any other`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let chosen = try await Self.command(
            scene, Self.made, "run", "--json", "--context", #"{"imageCoder":"broken"}"#, url
        ).run()
        #expect(try RunLines(chosen).failure(url).message.contains("the coder 'broken'"), "\(chosen.text)")
        let refused = try await Self.command(
            scene, Self.made, "run", "--json", "--context", #"{"imageCoder":"absent"}"#, url
        ).run()
        #expect(refused.code == 2, "\(refused.text)")
        #expect(refused.text.contains("'absent' is not a coder"), "\(refused.text)")
    }

    @Test(.enabled(if: SystemTool.path(of: "ffmpeg") != nil, "Debian's package ffmpeg"))
    func `ffmpeg makes the poster frame of a video`() async throws {
        let scene = try await Scene()
        let path = scene.directory.file("made.mp4")
        try await SystemTool.run([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:size=64x48:duration=1", "-pix_fmt", "yuv420p",
            path,
        ])
        scene.origin.on("/a.mp4", .body(Array(try Data(contentsOf: URL(filePath: path)))))
        let url = scene.origin.url("/a.mp4")
        let outcome = try await Self.command(
            scene, try Self.example("mp4"), "run", "--json", "--variant", Variants.small, url
        ).run()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        let job = try RunLines(outcome).job(url)
        let poster = try scene.bytes(job.variants.first?.path)
        #expect(poster.starts(with: [0xff, 0xd8, 0xff]), "a JPEG")
    }

    @Test(.enabled(if: SystemTool.path(of: "rsvg-convert") != nil, "Debian's package librsvg2-bin"))
    func `rsvg-convert draws an SVG that is not accepted otherwise`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("still.svg", at: "/a.svg")
        let outcome = try await Self.command(
            scene, try Self.example("drawing"), "run", "--json", "--variant", Variants.small, url
        ).run()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        let job = try RunLines(outcome).job(url)
        #expect(try scene.bytes(job.variants.first?.path).starts(with: [0xff, 0xd8, 0xff]), "a JPEG, as it is opaque")
    }
}
