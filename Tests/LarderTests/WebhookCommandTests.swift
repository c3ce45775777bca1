import Foundation
import TestSupport
import Testing

/// Webhooks from the command to a receiver, which is examples/webhook.py.
@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs /usr/bin/python3"),
    .timeLimit(.minutes(5)))
struct WebhookCommandTests {
    private let scene: Scene
    private let receiver: RunningCommand
    private let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    init() async throws {
        scene = try await Scene()
        try scene.directory.write(secret.utf8, to: "secret")
        receiver = try RunningCommand(
            "/usr/bin/python3", [PackageRoot.path + "/examples/webhook.py", scene.directory.file("secret"), "0"],
            environment: [:])
    }

    private var output: String { String(decoding: receiver.outputSoFar, as: UTF8.self) }

    /// The receiver's port, when it listens.
    private func port() async throws -> Int {
        #expect(await receiver.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        return try #require(output.firstMatch(of: /port (\d+)/).flatMap { Int($0.1) })
    }

    private func options(_ port: Int) -> [String] {
        [
            "--webhook-secret-file", scene.directory.file("secret"), "--allow-port", "\(port)", "--allow-port",
            "\(scene.origin.port)",
        ]
    }

    @Test func `run posts the counts of its batch, signed`() async throws {
        let port = try await port()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let outcome = try await scene.larder(
            ["run", "--batch", "spring", "--on-finished", "http://127.0.0.1:\(port)/x", url] + options(port)
        ).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let state = try await scene.sql("SELECT concat_ws(' ', http_status, attempts, error) FROM larder.webhook")
        #expect(state == "204 1")
        #expect(output.hasSuffix("\nspring: 1 of 1 images, 0 failed\n"), "\(output)")
    }

    @Test func `a drain posts what a schedule and an enqueue asked for, and a wrong secret is a finding`() async throws
    {
        let port = try await port()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let hook = ["--on-finished", "http://127.0.0.1:\(port)/x"]
        _ = try await scene.larder(["schedule", "set", "nightly", "--cron", "@daily", url] + hook).run()
        _ = try await scene.larder("enqueue", "--schedule", "nightly")
        _ = try await scene.larder(["enqueue", "--batch", "spring", url] + hook).run()
        let drained = try await scene.larder(["work", "--drain"] + options(port)).run()
        #expect(drained.code == 0, "\(drained.errorText)")
        let states = try await scene.sql(
            "SELECT string_agg(concat_ws(' ', http_status, attempts, error), ', ') FROM larder.webhook")
        #expect(states == "204 1, 204 1")
        #expect(output.contains("\nnightly: 1 of 1 images, 0 failed\n"), "\(output)")
        #expect(output.contains("\nspring: 1 of 1"), "\(output)")

        try scene.directory.write("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".utf8, to: "secret")
        _ = try await scene.larder(["enqueue", "--batch", "summer", url] + hook).run()
        _ = try await scene.larder(["work", "--drain"] + options(port)).run()
        #expect(!output.contains("summer"))
        let health = try await scene.larder("status", "--health").text
        #expect(health.contains("error: a webhook fails: "), "\(health)")
        #expect(health.contains("401"), "\(health)")
    }

    @Test func `a wrong URL and a wrong secret are refused before anything is done`() async throws {
        let wrong = try await scene.larder("enqueue", "--on-finished", "ftp://a/", "http://a/1", "--json")
        #expect(wrong.code == 1)
        #expect(try wrong.error.message.contains("a webhook is an http or https URL"))
        for text in ["", "secret", "whsec_", "whsec_AAAA", "whsec_!"] {
            try scene.directory.write(text.utf8, to: "secret")
            let refused = try await scene.larder(
                "work", "--drain", "--webhook-secret-file", scene.directory.file("secret"))
            #expect(refused.code == 2)
            #expect(refused.errorText.contains("must contain whsec_"), "\(refused.errorText)")
        }
    }
}
