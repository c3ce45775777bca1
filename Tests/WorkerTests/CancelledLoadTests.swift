import Concurrency
import DiskCache
import Downloader
import Glibc
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher
@testable import Worker

/// `ImageManager.cancelAll` in a program that runs a worker with this manager.
@Suite(.timeLimit(.minutes(5)))
struct CancelledLoadTests {
    /// Holds the first loads until they are cancelled, and returns an image for later ones.
    private struct HoldingSource: ImageSource {
        let image: [UInt8]
        let held: Int
        let allHeld = AsyncEvent()
        let begun = Locked(0)

        func canLoad(_ url: String) -> Bool { true }

        func load(
            _ request: FetchRequest, options: LoadOptions, into file: Int32
        ) async throws(LoadError) -> FetchResponse {
            let number = begun.withLock { begun in
                begun += 1
                return begun
            }
            if number == held { allHeld.signal() }
            if number <= held {
                await AsyncEvent().wait()
                throw .cancelled
            }
            guard write(file, image, image.count) == image.count else { throw .cancelled }
            return FetchResponse(bytes: image.count, sha256: [])
        }
    }

    @Test func `the jobs of cancelled loads run again in the same worker`() async throws {
        let database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
        let queue = PostgresJobQueue(.init(databaseURL: database.url))
        let directory = try TemporaryDirectory()
        var transcoding = TranscoderPool.Configuration()
        transcoding.executable = Products.transcoder
        let source = HoldingSource(image: try TestImage.bytes("plain.jpg"), held: 4)
        let manager = ImageManager(
            cache: try DirectoryStore(opening: directory.path + "/cache"),
            transcoders: TranscoderPool(configuration: transcoding),
            configuration: ImageManager.Configuration(sources: [source]))
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: 4))
        configuration.end = .drained
        let worker = PrefetchWorker(queue: queue, loader: manager, configuration: configuration)

        let urls = (0..<4).map { "https://host.example/\($0).jpg" }
        _ = try await queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "b"))
        async let summary = worker.run(until: ShutdownRequest())
        await source.allHeld.wait()
        manager.cancelAll()
        let ended = try await summary
        #expect(ended.succeeded == 4)
        #expect(ended.failed == 0)
        #expect(ended.retried == 0)
        #expect(ended.left == .nothing)
        #expect(source.begun.withLock { $0 } == 8)
        #expect(try await queue.reports.check().isEmpty)
    }
}
