import Downloader
import Foundation
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

/// Vectors of SDWebImage 5.21.5's prefetcher that need a manager; Tests/SDWebImage.md lists the suite of each.
@Suite(.timeLimit(.minutes(5)))
struct PrefetcherVectorTests {
    private let harness: ManagerHarness
    private let log = PrefetchLog()

    init() throws { harness = try ManagerHarness() }

    /// The progress and completion of one list, loaded one URL at a time.
    private func prefetch(
        _ urls: [String], by manager: ImageManager, _ options: LoadOptions = .lowPriority
    ) async -> [String] {
        let prefetcher = ImagePrefetcher(loader: manager, maxConcurrent: 1)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            var prefetchOptions = PrefetchOptions()
            prefetchOptions.options = options
            prefetcher.prefetch(
                urls, options: prefetchOptions, progress: { [log] finished, total in log.add("\(finished)/\(total)") },
                completed: { [log] counts in log.add("done \(counts.finished) \(counts.skipped)") })
            prefetcher.finish()
        }
        return log.all
    }

    private func urls(_ paths: String...) -> [String] { paths.map { harness.origin.url($0) } }

    private func serve(_ paths: String...) { for path in paths { harness.origin.on(path, .body(harness.image)) } }

    @Test func `progress is called after each of three URLs, and none is skipped (test02)`() async throws {
        serve("/1.jpg", "/2.jpg", "/3.jpg")
        let reported = await prefetch(urls("/1.jpg", "/2.jpg", "/3.jpg"), by: try harness.manager())
        #expect(reported == ["1/3", "2/3", "3/3", "done 3 0"])
    }

    @Test func `duplicates are counted, and the cache answers the second`() async throws {
        serve("/1.jpg", "/2.jpg")
        let reported = await prefetch(urls("/1.jpg", "/1.jpg", "/2.jpg"), by: try harness.manager())
        #expect(reported == ["1/3", "2/3", "3/3", "done 3 0"])
        #expect(harness.origin.requests.count == 2)
    }

    @Test func `a 404 is counted as finished and skipped`() async throws {
        serve("/1.jpg", "/3.jpg")
        let reported = await prefetch(urls("/1.jpg", "/404.jpg", "/3.jpg"), by: try harness.manager())
        #expect(reported == ["1/3", "2/3", "3/3", "done 3 1"])
    }

    @Test func `refused downloads and FromCacheOnly misses are finished and not skipped`() async throws {
        serve("/1.jpg", "/2.jpg")
        let vetoing = try harness.manager { $0.shouldDownload = { _ in false } }
        #expect(await prefetch(urls("/1.jpg", "/2.jpg"), by: vetoing) == ["1/2", "2/2", "done 2 0"])
        let reported = await prefetch(urls("/1.jpg"), by: try harness.manager(), .fromCacheOnly)
        #expect(reported.suffix(2) == ["1/1", "done 1 0"])
        #expect(harness.origin.requests.isEmpty)
    }

    @Test func `RefreshCached counts each URL once`() async throws {
        let other = try TestImage.bytes("rgb.png")
        for path in ["/1.jpg", "/2.jpg"] { harness.origin.on(path, .body(harness.image), .body(other)) }
        let manager = try harness.manager()
        let list = urls("/1.jpg", "/2.jpg")
        _ = await prefetch(list, by: manager)
        let reported = await prefetch(list, by: manager, .refreshCached)
        #expect(reported.suffix(3) == ["1/2", "2/2", "done 2 0"])
        #expect(reported.count == 6)
        #expect(list.allSatisfy { harness.stored($0) == other })
        // An unchanged image counts once as well.
        #expect(await prefetch(list, by: manager, .refreshCached).suffix(3) == ["1/2", "2/2", "done 2 0"])
    }

    @Test
    func `an empty and an invalid URL fail with 1000 and are never blocked; a valid one is loaded`() async throws {
        serve("/a.png")
        let manager = try harness.manager()
        let list = ["", "not a url type"] + urls("/a.png")
        #expect(await prefetch(list, by: manager) == ["1/3", "2/3", "3/3", "done 3 2"])
        for _ in 0..<2 {
            var codes: [Int?] = []
            for url in list { codes.append(await failure(of: LoadRequest(url: url), by: manager)?.code) }
            #expect(codes == [1000, 1000, nil])
        }
    }

    @Test func `a blocked URL is finished and skipped`() async throws {
        let list = MemoryBlocklist()
        let manager = try harness.manager { $0.blocklist = list }
        for url in urls("/1.jpg") { list.insert(url) }
        #expect(await prefetch(urls("/1.jpg"), by: manager) == ["1/1", "done 1 1"])
        #expect(harness.origin.requests.isEmpty)
    }

    @Test func `cancelAllDownloads completes the token with every URL skipped (test07)`() async throws {
        let paths = ["/1.jpg", "/2.jpg", "/3.jpg"]
        let head = OriginReply.head(200, [("Content-Length", "9000000")])
        for path in paths { harness.origin.on(path, OriginReply([.bytes(head + harness.image), .hang])) }
        let web = try harness.web
        let prefetcher = ImagePrefetcher(loader: try harness.manager { $0.sources = [web] })
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            prefetcher.prefetch(
                paths.map { harness.origin.url($0) },
                completed: { [log] counts in log.add("done \(counts.finished) \(counts.skipped)") })
            for path in paths { await harness.origin.waitForRequests(path) }
            #expect(await web.currentDownloadCount == 3)
            await web.cancelAllDownloads()
            prefetcher.finish()
        }
        #expect(log.all == ["done 3 3"])
        #expect(await web.currentDownloadCount == 0)
    }

    @Test func `two prefetchers share no limit, token or observer (test01)`() async {
        let loader = StubLoader()
        let logs = [PrefetchLog(), PrefetchLog()]
        let prefetchers = logs.map { ImagePrefetcher(loader: loader, observer: $0) }
        await withTaskGroup(of: Void.self) { group in
            for (number, prefetcher) in prefetchers.enumerated() {
                group.addTask { await prefetcher.run() }
                prefetcher.prefetch((1...4).map { "\(number)-\($0)" })
            }
            await loader.waitForBegin(of: 6)
            prefetchers[0].cancelPrefetching()
            for number in 1...4 {
                await loader.waitForBegin(of: min(7, 6 + number - 1))
                loader.end("1-\(number)")
            }
            for prefetcher in prefetchers { prefetcher.finish() }
        }
        #expect(loader.maxInFlight <= 6)
        #expect(loader.begun.count == 7)
        #expect(logs[0].all.sorted() == ["did 0-1 0/0", "did 0-2 0/0", "did 0-3 0/0"])
        #expect(logs[1].all.last == "finish 4 0")
    }
}
