import ImageModel
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct WebhookTests {
    /// A finished batch whose webhook is due.
    private func finished(_ fixture: QueueFixture) async throws -> Int64 {
        let batch = try await fixture.queue.producer.openBatch(name: "spring")
        try await fixture.queue.producer.setWebhook(of: .id(batch), to: "https://u:p@hooks.example.com/secret?x")
        try await fixture.queue.producer.seal(.id(batch))
        try await fixture.queue.workers.maintain(force: true)
        return batch
    }

    private func state(_ fixture: QueueFixture) async throws -> String? {
        try await fixture.value(
            """
            SELECT concat_ws(' ', origin, attempts, http_status, error, CASE WHEN delivered_at IS NOT NULL THEN 'delivered'
                WHEN due_at IS NOT NULL THEN 'due in ' || round(extract(epoch FROM due_at - now())) || ' s' END)
            FROM larder.webhook
            """)
    }

    @Test func `a webhook is due at the end of its batch, and is taken once`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await fixture.queue.producer.openBatch(name: "spring")
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://a/1", "nonsense"], batch: "spring"))
        try await fixture.queue.producer.setWebhook(of: .name("spring"), to: "https://u:p@hooks.example.com/secret?x")
        try await fixture.queue.producer.seal(.id(batch))
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.workers.takeWebhook() == nil)
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        try await fixture.queue.workers.maintain(force: true)
        let webhook = try #require(try await fixture.queue.workers.takeWebhook())
        #expect(try await fixture.queue.workers.takeWebhook() == nil)
        #expect(webhook.batch == batch)
        #expect(webhook.attempt == 1)
        #expect(webhook.url == "https://u:p@hooks.example.com/secret?x")
        #expect(webhook.id.hasPrefix("batch-\(batch)-"))
        let counts = """
            SELECT d ->> 'type' || ' ' || (d #>> '{data,batch}') || ' ' || (d #>> '{data,total}') || ' '
                || (d #>> '{data,succeeded}') || ' ' || (d #>> '{data,failed}') || ' ' || (d #>> '{data,state}')
            FROM (SELECT $1::json) AS x (d)
            """
        #expect(
            try await fixture.value(counts, [.text(webhook.payload)]) == "batch.finished spring 2 1 1 finished")
        #expect(!webhook.payload.contains("nonsense"))
        try await fixture.queue.workers.finish(webhook, status: 204, error: nil)
        #expect(try await state(fixture) == "https://hooks.example.com 1 204 delivered")
    }

    @Test func `the webhook of a worker that died is due again, with the same id`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await finished(fixture)
        let first = try #require(try await fixture.queue.workers.takeWebhook())
        #expect(try await state(fixture) == "https://hooks.example.com 1 due in 60 s")
        try await fixture.sql("UPDATE larder_data.webhook SET due_at = now()")
        let second = try #require(try await fixture.queue.workers.takeWebhook())
        #expect(second.id == first.id)
        #expect(second.attempt == 2)
        // The first worker was only slow. Its answer belongs to an old attempt.
        try await fixture.queue.workers.finish(first, status: nil, error: "too late")
        #expect(try await state(fixture) == "https://hooks.example.com 2 due in 60 s")
    }

    @Test func `a failed delivery is tried again ever later, then given up`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await finished(fixture)
        for wait in [5, 10, 20, 40] {
            let webhook = try #require(try await fixture.queue.workers.takeWebhook())
            try await fixture.queue.workers.finish(webhook, status: 500, error: "status 500")
            #expect(try await state(fixture)?.hasSuffix("500 status 500 due in \(wait) s") == true)
            try await fixture.sql("UPDATE larder_data.webhook SET due_at = now()")
        }
        let health =
            "SELECT string_agg(severity || ': ' || detail, ', ') FROM larder.health WHERE what = 'a webhook fails'"
        #expect(try await fixture.value(health) == "error: batch \(batch), 4 attempts: status 500")
        try await fixture.sql("UPDATE larder_data.webhook SET attempts = 30")
        let late = try #require(try await fixture.queue.workers.takeWebhook())
        try await fixture.queue.workers.finish(late, status: 500, error: "status 500")
        #expect(try await state(fixture)?.hasSuffix("due in 3600 s") == true)
        try await fixture.sql("UPDATE larder_data.webhook SET due_at = now()")
        let last = try #require(try await fixture.queue.workers.takeWebhook())
        #expect(last.attempt == 32)
        try await fixture.queue.workers.finish(last, status: 500, error: "status 500")
        #expect(try await state(fixture) == "https://hooks.example.com 32 500 status 500")
        #expect(
            try await fixture.value(health) == "error: batch \(batch), 32 attempts: status 500; it is not tried again")
        // Set again, it is due at once.
        try await fixture.queue.producer.setWebhook(of: .id(batch), to: "http://other/")
        #expect(try await fixture.queue.workers.takeWebhook()?.attempt == 1)
    }

    @Test func `a batch that a retry opens again has its webhook at its next end, under a new id`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await fixture.queue.producer.openBatch(name: "spring")
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://a/1"], batch: "spring"))
        try await fixture.queue.producer.setWebhook(of: .id(batch), to: "http://hooks/")
        try await fixture.queue.producer.seal(.id(batch))
        let worker = try await fixture.startWorker()
        func end(_ result: Outcome.Result) async throws {
            let job = try #require(try await worker.claim(upTo: 1).first)
            _ = try await worker.complete([Outcome(job.held, result)])
            try await fixture.queue.workers.maintain(force: true)
        }
        try await end(.failed(FailureReason(domain: "SDWebImageErrorDomain", code: 1001, message: "no image")))
        let first = try #require(try await fixture.queue.workers.takeWebhook())
        try await fixture.queue.workers.finish(first, status: 500, error: "status 500")
        try await fixture.sql("UPDATE larder_data.webhook SET due_at = now()")
        _ = try await fixture.sql("SELECT larder.batch_retry_portion('spring')")
        #expect(try await fixture.queue.workers.takeWebhook() == nil)
        try await end(.succeeded)
        let second = try #require(try await fixture.queue.workers.takeWebhook())
        #expect(second.id != first.id)
        #expect(second.attempt == 1)
    }

    @Test func `only a URL of http or https is a webhook, and NULL is none`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await finished(fixture)
        for url in [
            "", "ftp://a/", "http://", "http:///x", "http://a b", "a", "http://" + String(repeating: "a", count: 2050),
        ] {
            await #expect { try await fixture.queue.producer.setWebhook(of: .id(batch), to: url) } throws: {
                ($0 as? QueueError)?.code == .invalidArgument
            }
        }
        await #expect { try await fixture.queue.producer.setWebhook(of: .name("none"), to: "http://a/") } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        try await fixture.queue.producer.setWebhook(of: .id(batch), to: nil)
        #expect(try await fixture.queue.workers.takeWebhook() == nil)
        #expect(try await fixture.value("SELECT count(*) FROM larder.webhook") == "0")
    }

    @Test func `health says when no worker posts what is due, and a deleted batch has no webhook`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await finished(fixture)
        let findings = "SELECT count(*) FROM larder.health WHERE what = 'webhooks are not sent'"
        #expect(try await fixture.value(findings) == "0")
        try await fixture.sql("UPDATE larder_data.webhook SET due_at = now() - interval '121 s'")
        #expect(try await fixture.value(findings) == "1")
        try await fixture.sql("SELECT larder.batch_delete('spring')")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder.webhook") == "0")
    }
}
