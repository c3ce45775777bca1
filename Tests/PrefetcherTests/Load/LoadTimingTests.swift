import Concurrency
import Downloader
import TestSupport
import TestTranscoder
import Testing
import Transcoder

@testable import Prefetcher

/// The times that a load spends in its stages.
struct LoadTimingTests {
    @Test func `the waits for a connection and for a transcoder are no part of fetch and transcode`() async throws {
        let harness = try ManagerHarness()
        let gate = OriginGate()
        harness.origin.on("/a.jpg", OriginReply([.wait(gate)] + OriginReply.body(harness.image).steps))
        harness.origin.on("/b.jpg", .body(harness.image))
        var configuration = FetchConfiguration(policy: loopback(harness.origin.port), limits: longLimits)
        configuration.transfersPerOrigin = 1
        let web = ImageDownloader(configuration)
        let transcoder = BusyTranscoder()
        let manager = ImageManager(
            cache: harness.cache, transcoders: transcoder, configuration: ImageManager.Configuration(sources: [web]))

        async let first = manager.load(try harness.request("/a.jpg"))
        #expect(await reached { gate.waiterCount == 1 })
        let clock = ContinuousClock.now
        async let second = manager.load(try harness.request("/b.jpg"))
        #expect(await reached { await web.currentDownloadCount == 2 })
        let queued = ContinuousClock.now
        for _ in 0..<1_000 { await Task.yield() }
        let held = ContinuousClock.now - queued
        gate.openUp()

        _ = try await first
        let timing = try await second.timing
        let total = ContinuousClock.now - clock
        #expect(timing.connectionWait >= held)
        #expect(timing.lookup > .zero)
        #expect(timing.fetch > .zero)
        #expect(timing.transcoderWait >= transcoder.shortest)
        let stages = timing.fetch + timing.transcode + timing.store
        #expect(timing.lookup + timing.connectionWait + timing.transcoderWait + stages <= total)
    }
}

/// A transcoder that is not free at once.
private final class BusyTranscoder: Transcoding {
    let count = 1
    private let transcoder = DirectTranscoder()
    private let waits = Locked<[Duration]>([])

    /// The shortest time that a request waited.
    var shortest: Duration { waits.withLock { $0.min() ?? .zero } }

    func transcode<Failure: Error>(
        failure: (TranscodeError) -> Failure, open: () throws(Failure) -> TranscodeRequest
    ) async throws(Failure) -> TranscodeReport {
        let start = ContinuousClock.now
        for _ in 0..<1_000 { await Task.yield() }
        waits.withLock { $0.append(.now - start) }
        return try await transcoder.transcode(failure: failure, open: open)
    }
}
