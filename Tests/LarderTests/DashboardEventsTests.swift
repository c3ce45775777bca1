import Concurrency
import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import Dashboard

/// The server-sent events of `larder serve`.
@Suite(.timeLimit(.minutes(5)))
struct DashboardEventsTests {
    private let scene: Scene
    private let server: RunningCommand
    private let address: String

    init() async throws {
        scene = try await Scene()
        server = try scene.larder(["serve", "--listen", "127.0.0.1:0", "--json"]).start()
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        let line = String(decoding: server.outputSoFar, as: UTF8.self)
        address = "http://127.0.0.1:\(try #require(line.firstMatch(of: /"port":(\d+)/)).1)/api/v1/events"
    }

    private func following(_ paths: String) throws -> RunningCommand {
        try RunningCommand("/usr/bin/curl", ["-sN", "\(address)?paths=\(paths)"], environment: [:])
    }

    /// The events so far: the path and the answer of each.
    private func events(_ curl: RunningCommand) -> [(path: String, answer: [String: Any])] {
        String(decoding: curl.outputSoFar, as: UTF8.self).components(separatedBy: "\n\n").compactMap { event in
            guard let data = event.split(separator: "\n").first(where: { $0.hasPrefix("data: ") })?.dropFirst(6),
                event.hasPrefix("event: answer\n"),
                let object = try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any],
                let path = object["path"] as? String, let answer = object["answer"] as? [String: Any],
                object["status"] as? Int == (answer["error"] == nil ? 200 : 404)
            else { return nil }
            return (path, answer)
        }
    }

    private func states(_ curl: RunningCommand) -> [String] {
        events(curl).compactMap { (($0.answer["batches"] as? [[String: Any]])?.first?["state"]) as? String }
    }

    @Test func `each question is answered, and again when its answer has changed`() async throws {
        _ = try await scene.larder("enqueue", "--batch", "spring", "http://a.example/1.jpg")
        let curl = try following("batches%3Flimit%3D1%20queues%20batches%2F99")
        #expect(await curl.reaches { _ in events(curl).count == 3 })
        #expect(events(curl).map(\.path) == ["batches?limit=1", "queues", "batches/99"])
        #expect(states(curl) == ["sealed"])
        _ = try await scene.larder("pause", "spring")
        #expect(await curl.reaches { _ in states(curl).last == "paused" })
        _ = try await scene.larder("resume", "spring")
        #expect(await curl.reaches { _ in states(curl).last == "sealed" })
        #expect(events(curl).filter { $0.path == "batches/99" }.count == 1, "an error is sent once")
        // The server ends with the stream open.
        server.signal(SIGTERM)
        #expect(await server.outcome().code == 0)
        // 18: the last chunk was not sent.
        #expect([0, 18].contains(await curl.outcome().code))
    }

    @Test func `times that pass by themselves make no other answer`() {
        func left(_ json: String) -> String {
            String(decoding: PassingTimes.removed(from: Array(json.utf8)), as: UTF8.self)
        }
        #expect(left(#"{"a":1,"seconds":12.5,"b":[{"seconds":3}]}"#) == #"{"a":1,"seconds":,"b":[{"seconds":}]}"#)
        #expect(
            left(#"{"heartbeatAt":"2026-01-01T00:00:00Z","etaSeconds":null}"#) == #"{"heartbeatAt":,"etaSeconds":}"#)
        for same in ["", "{}", #"{"url":"\"seconds\":1,"}"#, #"{"second":1}"#] { #expect(left(same) == same) }
    }

    @Test func `a place is taken once, however many ask at the same time`() async {
        let count = Locked(0)
        let viewers = await withTaskGroup(of: DashboardViewer?.self) { group in
            for _ in 0..<200 { group.addTask { DashboardViewer(count, limit: 3) } }
            return await group.reduce(into: [DashboardViewer]()) { found, viewer in viewer.map { found.append($0) } }
        }
        #expect(viewers.count == 3)
        #expect(count.withLock { $0 } == 3)
        #expect(DashboardViewer(count, limit: 3) == nil)
        withExtendedLifetime(viewers) {}
    }

    @Test func `wrong questions and more pages than places are refused`() async throws {
        for paths in ["", "%20", Array(repeating: "queues", count: 13).joined(separator: "%20")] {
            let refused = try await following(paths).outcome()
            #expect(refused.text.contains("1 to 12 of GET"), "\(refused.text)")
        }
        let wrong = try following("nothing%20events%20batches%2F1%2Fpause")
        #expect(await wrong.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains("there is no ") })
        let urls = Array(repeating: "\(address)?paths=queues", count: DashboardEvents.streams)
        let all = try RunningCommand(
            "/usr/bin/curl", ["-sNZ", "--parallel-max", "40", "--parallel-immediate"] + urls, environment: [:])
        // One place has `wrong`.
        #expect(
            await all.reaches { String(decoding: $0.outputSoFar, as: UTF8.self).contains("pages are open already") })
        all.signal(SIGKILL)
        _ = await all.outcome()
        // The server notices that they have gone.
        let isFree = try await reached {
            let one = try following("queues")
            return await one.reaches { $0.outputSoFar.count > 0 } && events(one).count == 1
        }
        #expect(isFree)
    }
}
