import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing

@testable import Prefetcher

/// The rows of SDWebImage 5.21.5's prefetcher that need a manager, on real parts; `ImagePrefetcherTests` and
/// `PrefetchCountersTests` have the others. docs/sdwebimage.md tells which row is where.
@Suite("The prefetcher's vectors", .timeLimit(.minutes(5)))
struct PrefetcherVectorTests {
    private let scene: ManagerScene
    private let log = PrefetchLog()

    init() throws { scene = try ManagerScene() }

    /// What one list tells until it is complete, loads one after the other.
    private func prefetch(
        _ urls: [String], by manager: ImageManager, _ options: LoadOptions = .lowPriority
    ) async -> [String] {
        let prefetcher = ImagePrefetcher(loader: manager, mostAtOnce: 1)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            var wishes = PrefetchOptions()
            wishes.options = options
            prefetcher.prefetch(
                urls, wishes: wishes, progress: { [log] finished, total in log.add("\(finished)/\(total)") },
                completed: { [log] counts in log.add("done \(counts.finished) \(counts.skipped)") })
            prefetcher.finish()
        }
        return log.all
    }

    private func urls(_ paths: String...) -> [String] { paths.map { scene.origin.url($0) } }

    private func serve(_ paths: String...) { for path in paths { scene.origin.on(path, .body(scene.picture)) } }

    @Test("three strings that succeed: a word after each, in steps of one, and none skipped (test02)")
    func threeStrings() async throws {
        serve("/1.jpg", "/2.jpg", "/3.jpg")
        let told = await prefetch(urls("/1.jpg", "/2.jpg", "/3.jpg"), by: try scene.manager())
        #expect(told == ["1/3", "2/3", "3/3", "done 3 0"])
    }

    @Test("duplicates are counted, and asked for once each: the cache has the second")
    func duplicates() async throws {
        serve("/1.jpg", "/2.jpg")
        let told = await prefetch(urls("/1.jpg", "/1.jpg", "/2.jpg"), by: try scene.manager())
        #expect(told == ["1/3", "2/3", "3/3", "done 3 0"])
        #expect(scene.origin.requests.count == 2)
    }

    @Test("one 404 among three: finished like the others, and skipped")
    func mixedFailure() async throws {
        serve("/1.jpg", "/3.jpg")
        let told = await prefetch(urls("/1.jpg", "/404.jpg", "/3.jpg"), by: try scene.manager())
        #expect(told == ["1/3", "2/3", "3/3", "done 3 1"])
    }

    @Test("a veto and a miss of FromCacheOnly are finished, not skipped")
    func veto() async throws {
        serve("/1.jpg", "/2.jpg")
        let vetoing = try scene.manager { $0.shouldDownload = { _ in false } }
        #expect(await prefetch(urls("/1.jpg", "/2.jpg"), by: vetoing) == ["1/2", "2/2", "done 2 0"])
        let told = await prefetch(urls("/1.jpg"), by: try scene.manager(), .fromCacheOnly)
        #expect(told.suffix(2) == ["1/1", "done 1 0"])
        #expect(scene.origin.requests.isEmpty)
    }

    @Test("RefreshCached with both changed counts each once, and is complete when the last has ended")
    func refreshCached() async throws {
        let other = try Picture.bytes("rgb.png")
        for path in ["/1.jpg", "/2.jpg"] { scene.origin.on(path, .body(scene.picture), .body(other)) }
        let manager = try scene.manager()
        let list = urls("/1.jpg", "/2.jpg")
        _ = await prefetch(list, by: manager)
        let told = await prefetch(list, by: manager, .refreshCached)
        #expect(told.suffix(3) == ["1/2", "2/2", "done 2 0"] && told.count == 6)
        #expect(list.allSatisfy { scene.stored($0) == other })
        // What changed nothing counts once as well.
        #expect(await prefetch(list, by: manager, .refreshCached).suffix(3) == ["1/2", "2/2", "done 2 0"])
    }

    @Test("an empty entry and one that is no URL fail with 1000, and are never blocked; the good one is loaded")
    func invalidEntries() async throws {
        serve("/a.png")
        let manager = try scene.manager()
        let list = ["", "not a url type"] + urls("/a.png")
        #expect(await prefetch(list, by: manager) == ["1/3", "2/3", "3/3", "done 3 2"])
        for _ in 0..<2 {
            var codes: [Int?] = []
            for url in list { codes.append(await failure(of: LoadRequest(url: url), by: manager)?.code) }
            #expect(codes == [1000, 1000, nil])
        }
    }

    @Test("a URL that was blocked is finished and skipped")
    func blocked() async throws {
        let list = MemoryBlocklist()
        let manager = try scene.manager { $0.blocklist = list }
        for url in urls("/1.jpg") { list.insert(url) }
        #expect(await prefetch(urls("/1.jpg"), by: manager) == ["1/1", "done 1 1"])
        #expect(scene.origin.requests.isEmpty)
    }

    @Test("all downloads cancelled at the downloader: the completion comes, all three skipped (test07)")
    func cancelledDownloads() async throws {
        let paths = ["/1.jpg", "/2.jpg", "/3.jpg"]
        let head = OriginReply.head(200, [("Content-Length", "9000000")])
        for path in paths { scene.origin.on(path, OriginReply([.bytes(head + scene.picture), .hang])) }
        let web = try scene.web
        let prefetcher = ImagePrefetcher(loader: try scene.manager { $0.sources = [web] })
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            prefetcher.prefetch(
                paths.map { scene.origin.url($0) },
                completed: { [log] counts in log.add("done \(counts.finished) \(counts.skipped)") })
            for path in paths { await scene.origin.waitForRequests(path) }
            #expect(await web.currentDownloadCount == 3)
            await web.cancelAllDownloads()
            prefetcher.finish()
        }
        #expect(log.all == ["done 3 3"])
        #expect(await web.currentDownloadCount == 0)
    }

    @Test("two prefetchers share nothing: places, tokens and observers are each one's own (test01)")
    func twoPrefetchers() async {
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
        #expect(loader.mostInFlight <= 6 && loader.begun.count == 7)
        #expect(logs[0].all.sorted() == ["did 0-1 0/0", "did 0-2 0/0", "did 0-3 0/0"])
        #expect(logs[1].all.last == "finish 4 0")
    }
}
