import Testing

@testable import JobQueue

/// The name of a batch that is over, used again.
@Suite(.timeLimit(.minutes(5)))
struct BatchRunTests {
    private func finish(_ url: String, _ fixture: QueueFixture) async throws {
        try await fixture.enqueue([url], batch: "nightly")
        try await fixture.queue.producer.seal(.name("nightly"))
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
    }

    @Test func `a name can be used again once its batch is finished, and then means the latest run`() async throws {
        let fixture = try await QueueFixture.make()
        var ids: [Int64] = []
        for run in 1...3 {
            // Maintenance has not seen the end of the run before.
            try await finish("http://a/\(run)", fixture)
            let progress = try await fixture.queue.reports.progress(of: .name("nightly"))
            #expect(progress.run == run)
            #expect(progress.state == .finished)
            #expect(progress.total == 1)
            ids.append(progress.id)
        }
        for (name, id) in [("nightly", ids[2]), ("nightly@3", ids[2]), ("nightly@1", ids[0]), ("nightly@-1", ids[1])] {
            #expect(try await fixture.queue.reports.progress(of: .name(name)).id == id, "\(name)")
        }
        for name in ["nightly@4", "nightly@-3", "nightly@x"] {
            await #expect { try await fixture.queue.reports.progress(of: .name(name)) } throws: {
                ($0 as? QueueError)?.code == .unknownBatch
            }
        }
        // Functions take the same names.
        try await fixture.queue.operations.unblockAll()
        #expect(try await fixture.queue.producer.retryFailed(of: .name("nightly@-1")) == 1)
        #expect(try await fixture.queue.reports.progress(of: .id(ids[1])).open == 1)
        try await fixture.sql("CALL larder.wait_batch('nightly@1', '0 s')")
        try await fixture.expectSound()
    }

    @Test func `a sealed batch with open items keeps its name, a cancelled one does not`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "nightly")
        try await fixture.queue.producer.seal(.name("nightly"))
        await #expect { try await fixture.enqueue(["http://a/2"], batch: "nightly") } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        try await fixture.queue.producer.cancel(.name("nightly"))
        try await fixture.enqueue(["http://a/2"], batch: "nightly")
        #expect(try await fixture.queue.reports.progress(of: .name("nightly")).run == 2)
        await #expect { try await fixture.enqueue(["http://a/2"], batch: "nightly@2") } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        try await fixture.expectSound()
    }

    @Test func `a sealed batch with open items lets its name open the next run when that is asked for`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "nightly")
        // An open batch is continued.
        let first = try await fixture.queue.producer.openBatch(name: "nightly", nextRun: true)
        try await fixture.queue.producer.seal(.name("nightly"))
        let second = try await fixture.queue.producer.openBatch(name: "nightly", nextRun: true)
        #expect(second != first)
        #expect(try await fixture.queue.producer.openBatch(name: "nightly", nextRun: true) == second)
        try await fixture.enqueue(["http://a/1", "http://a/2"], batch: "nightly")
        try await fixture.queue.producer.seal(.name("nightly"))
        let worker = try await fixture.startWorker()
        for job in try await worker.claim(upTo: 3) {
            _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        }
        try await fixture.queue.workers.maintain(force: true)
        for (id, total) in [(first, 1), (second, 2)] {
            let batch = try await fixture.queue.reports.progress(of: .id(id))
            #expect(batch.state == .finished)
            #expect(batch.total == total)
            #expect(batch.failed == total)
        }
        try await fixture.expectSound()
    }

    @Test func `a finished batch is deleted with its records, and what others need of them stays`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2", "nothing"], batch: "nightly")
        try await fixture.enqueue(["http://a/1"], batch: "joined")
        for name in ["nightly", "joined"] { try await fixture.queue.producer.seal(.name(name)) }
        await #expect { try await fixture.queue.operations.delete(.name("nightly")) } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        let worker = try await fixture.startWorker()
        for job in try await worker.claim(upTo: 2) {
            _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        }
        try await fixture.queue.workers.maintain(force: true)
        let id = try await fixture.queue.reports.progress(of: .name("nightly")).id
        try await fixture.queue.operations.delete(.name("nightly"))
        await #expect { try await fixture.queue.reports.progress(of: .id(id)) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        try await fixture.expectSound()
        try await fixture.queue.workers.maintain(force: true)
        for table in ["batch_total", "batch_detail", "job_history"] {
            #expect(try await fixture.value("SELECT count(*) FROM larder_data.\(table) WHERE batch_id = \(id)") == "0")
        }
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch") == "1")
        try await fixture.expectSound()
        try await fixture.queue.operations.unblockAll()
        #expect(try await fixture.queue.producer.retryFailed(of: .name("joined")) == 1)
        try await fixture.enqueue(["http://a/3"], batch: "nightly")
        try await fixture.expectSound()
    }
}
