import DiskCache
import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher
@testable import Worker

/// Images that break a codec, in a worker with a real server, queue, cache and transcoder.
@Suite(.timeLimit(.minutes(10)))
struct FaultyImageTests {
    private let origin: OriginServer
    private let directory: TemporaryDirectory
    private let database: TemporaryDatabase
    private let queue: PostgresJobQueue
    private let codec: FaultyCodec

    init() async throws {
        origin = try OriginServer()
        directory = try TemporaryDirectory()
        codec = try await FaultyCodec()
        database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
        queue = PostgresJobQueue(.init(databaseURL: database.url))
    }

    /// A worker whose transcoders have the faulty codec.
    private func worker(hardTime: Duration = .seconds(30)) throws -> PrefetchWorker {
        var transcoding = TranscoderPool.Configuration()
        transcoding.count = 2
        transcoding.executable = Products.transcoder
        transcoding.environment.append(codec.environment)
        transcoding.limits.memoryBytes = 64 << 20
        transcoding.limits.hardTime = hardTime
        let downloader = ImageDownloader(FetchConfiguration(policy: loopback(origin.port), limits: longLimits))
        let manager = ImageManager(
            cache: try DirectoryStore(opening: directory.path + "/cache"),
            transcoders: TranscoderPool(configuration: transcoding),
            configuration: ImageManager.Configuration(sources: [downloader]))
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: 4))
        configuration.end = .drained
        return PrefetchWorker(queue: queue, loader: manager, configuration: configuration)
    }

    @Test func `two crashes are poison, endless time and memory exceed limits, other images succeed`()
        async throws
    {
        let image = try TestImage.bytes("plain.jpg")
        for fault in FaultyCodec.Fault.allCases { origin.on("/\(fault).jpg", .body(fault.image)) }
        let names = FaultyCodec.Fault.allCases.map { "\($0)" } + (0..<6).map { "good\($0)" }
        for name in names.suffix(6) { origin.on("/\(name).jpg", .body(image)) }
        var request = EnqueueRequest(urls: names.map { origin.url("/\($0).jpg") }, batch: "b")
        request.retryBase = .zero
        _ = try await queue.producer.enqueue(request)
        try await queue.producer.seal(.name("b"))
        let summary = try await worker().run(until: ShutdownRequest())
        #expect(summary.succeeded == 6)
        #expect(summary.failed == 3)
        #expect(summary.retried == 1)

        let failures = try await queue.reports.summary(of: .name("b")).failures.sorted { $0.error.code < $1.error.code }
        #expect(failures.map(\.error.code) == [205, 206, 302])
        #expect(failures.map(\.attempts) == [1, 1, 2])
        let blocked = try await queue.reports.blocklist(after: .start, limit: 10).map(\.error.code).sorted()
        #expect(blocked == [205, 206, 302])
        #expect(failures.last?.url == origin.url("/crash.jpg"))
        #expect(try await queue.reports.check().isEmpty)
    }

    @Test func `a variant that is ended at the limit on time fails its job, keeps what was made and blocks no URL`()
        async throws
    {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        func variant(_ name: String, _ width: Int) -> String {
            #"{"name":"\#(name)","transform":[{"type":"resize","width":\#(width),"height":9}],"format":"jpeg"}"#
        }
        let variants = variant("endless", FaultyCodec.endlessOutput) + "," + variant("small", 9)
        _ = try await queue.producer.setPipeline(name: "p", spec: #"{"name":"p","variants":[\#(variants)]}"#)
        var request = EnqueueRequest(urls: [origin.url("/a.jpg")], batch: "b")
        request.pipeline = "p"
        _ = try await queue.producer.enqueue(request)
        try await queue.producer.seal(.name("b"))
        let summary = try await worker(hardTime: .seconds(4)).run(until: ShutdownRequest())
        #expect(summary.failed == 1)
        #expect(summary.retried == 0)

        let failures = try await queue.reports.summary(of: .name("b")).failures
        #expect(failures.map(\.error.code) == [401])
        #expect(failures.map(\.attempts) == [1])
        #expect(failures.first?.error.message.contains("processor time") == true)
        #expect(try await queue.reports.blocklist(after: .start, limit: 10).isEmpty)
        // The original and the variant that was finished.
        let files = FileManager.default.subpaths(atPath: directory.path + "/cache") ?? []
        #expect(files.count { $0.hasSuffix(".jpg") } == 2, "\(files)")
    }
}
