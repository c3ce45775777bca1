import TestSupport
import Testing

@testable import JobQueue

/// A batch belongs to the role that opened it.
@Suite(.timeLimit(.minutes(5)))
struct BatchOwnerTests {
    private func isDenied(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return false
        } catch { return (error as? QueueError)?.sqlState == "42501" }
    }

    @Test func `a producer can enqueue into, seal, pause and resume its own batches only`() async throws {
        let fixture = try await QueueFixture.make()
        let owner = try await fixture.login("larder_producer")
        let other = try await fixture.login("larder_producer")
        _ = try await owner.producer.enqueue(EnqueueRequest(urls: ["http://a/1"], batch: "mine"))
        for action: (PostgresJobQueue) async throws -> Void in [
            { _ = try await $0.producer.enqueue(EnqueueRequest(urls: ["http://a/2"], batch: "mine")) },
            { _ = try await $0.producer.openBatch(name: "mine", notify: true) },
            { try await $0.producer.pause(.name("mine")) }, { try await $0.producer.resume(.name("mine")) },
            { try await $0.producer.seal(.name("mine")) },
        ] {
            #expect(await isDenied { try await action(other) })
            #expect(await !isDenied { try await action(owner) })
        }
        #expect(try await fixture.queue.reports.progress(of: .name("mine")).total == 2)
        // The jobs themselves are shared: another batch may join them.
        let joined = try await other.producer.enqueue(EnqueueRequest(urls: ["http://a/1"], batch: "theirs"))
        #expect(joined.map(\.kind) == [.joined])
        await owner.close()
        await other.close()
    }

    @Test func `a daily batch takes the URLs of every producer, and only an admin can seal it`() async throws {
        let fixture = try await QueueFixture.make()
        let enqueuer = try await fixture.login("larder_producer")
        let admin = try await fixture.login("larder_admin")
        for queue in [enqueuer, admin] { _ = try await queue.producer.enqueue(EnqueueRequest(urls: ["http://a/1"])) }
        let name = try #require(try await fixture.value("SELECT name FROM larder_data.batch"))
        #expect(try await fixture.value("SELECT owner FROM larder_data.batch") == nil)
        _ = try await enqueuer.producer.enqueue(EnqueueRequest(urls: ["http://a/2"], batch: name))
        #expect(await isDenied { try await enqueuer.producer.seal(.name(name)) })
        try await admin.producer.seal(.name(name))
        await enqueuer.close()
        await admin.close()
    }

    @Test func `an admin may do all, and so may a member of the role that opened the batch`() async throws {
        let fixture = try await QueueFixture.make()
        let team = try await fixture.makeLogin()
        let member = try await fixture.makeLogin()
        try await fixture.sql("GRANT larder_producer TO \(team)")
        try await fixture.sql("GRANT \(team) TO \(member)")
        let connection = Connection(
            .init(databaseURL: fixture.url(fixture.database.url, as: member)), name: "test-member")
        _ = try await connection.rows("SET ROLE \(team)")
        _ = try await connection.rows("SELECT larder.enqueue('http://a/1', batch => 'shared')")
        #expect(try await fixture.value("SELECT owner FROM larder.progress") == team)
        _ = try await connection.rows("RESET ROLE")
        _ = try await connection.rows("SELECT larder.enqueue('http://a/2', batch => 'shared')")
        let admin = try await fixture.login("larder_admin")
        try await admin.producer.pause(.name("shared"))
        _ = try await connection.rows("SELECT larder.batch_resume('shared')")
        _ = try await connection.rows("SELECT larder.batch_seal('shared')")
        await connection.close()
        await admin.close()
    }
}
