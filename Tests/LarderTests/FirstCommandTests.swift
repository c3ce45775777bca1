import Foundation
import Glibc
import TestSupport
import Testing

/// The first commands of a new user.
@Suite(.timeLimit(.minutes(5)))
struct FirstCommandTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory(open: true) }

    @Test func `status, doctor and key create nothing`() async throws {
        let environment = ["LARDER_HOME": directory.file("home")]
        let status = try await LarderCommand("status", environment: environment).run()
        #expect(status.code == 1)
        #expect(status.errorText.contains("there is no embedded database in \(directory.file("home"))/postgres"))
        #expect(status.errorText.contains("'larder db start' creates it, and --database selects another one"))
        let doctor = try await LarderCommand("doctor", environment: environment).run()
        #expect(doctor.text.contains("is not created yet"))
        #expect(doctor.text.contains("is created by the first run"))
        #expect(try await LarderCommand("key", "http://a/b.jpg", environment: environment).run().code == 0)
        #expect(try directory.names.isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become an ordinary user"))
    func `a second user of a cache is told how to share it`() async throws {
        guard try await OrdinaryUser.canRunLarder() else { return }
        let scene = try await Scene()
        #expect(try await scene.larder("run", try scene.serve("plain.jpg", at: "/a.jpg")).code == 0)
        let second = try await RunningCommand(
            OrdinaryUser.words[0],
            Array(OrdinaryUser.words.dropFirst()) + [LarderCommand.executable, "work", "--drain"],
            environment: scene.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }
        ).outcome()
        #expect(second.code == 1)
        #expect(second.errorText.contains("cannot open \(scene.cache)/.larder-"), "\(second.errorText)")
        for option in ["--group", "--directory-mode 2775", "--file-mode 0664"] {
            #expect(second.errorText.contains(option), "\(second.errorText)")
        }
    }

    @Test func `the first variant of the README enlarges nothing and adds no bars`() async throws {
        let readme = try Document("README.md").text
        let variant = String(try #require(readme.firstMatch(of: /--variant (card=\S+)/)).1)
        let image = PackageRoot.path + "/Tests/TranscoderTests/Images/plain.jpg"
        let outcome = try await LarderCommand("transform", image, "--explain", "--variant", variant).run()
        #expect(outcome.lines.first?.hasPrefix("jpeg 80×60") == true)
        #expect(outcome.lines.last == "card: from decoded image → webp, quality 80, 80×60")
    }
}
