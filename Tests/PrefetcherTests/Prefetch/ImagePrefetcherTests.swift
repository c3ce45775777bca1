import TestSupport
import Testing

@testable import Prefetcher

/// The prefetcher with a loader that the test controls.
@Suite(.timeLimit(.minutes(5)))
struct ImagePrefetcherTests {
    private let loader = StubLoader()
    private let log = PrefetchLog()

    /// Runs a prefetcher while `body` uses it, until all its lists are done.
    private func run(_ prefetcher: ImagePrefetcher, _ body: () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            await body()
            prefetcher.finish()
        }
    }

    private func progress(_ name: String) -> ImagePrefetcher.Progress {
        { [log] finished, total in log.add("\(name) \(finished)/\(total)") }
    }

    private func completed(_ name: String) -> ImagePrefetcher.Completion {
        { [log] counts in log.add("\(name) done \(counts.finished) \(counts.skipped)") }
    }

    @Test func `two tokens give the specified events in order`() async {
        let prefetcher = ImagePrefetcher(loader: loader, maxConcurrent: 5, observer: log)
        await run(prefetcher) {
            prefetcher.prefetch(["a1", "a2"], progress: progress("A"), completed: completed("A"))
            prefetcher.prefetch(["b1", "b2", "b3"], progress: progress("B"), completed: completed("B"))
            await loader.waitForBegin(of: 5)
            for (number, url) in ["a1", "b1", "a2", "b2", "b3"].enumerated() {
                loader.end(url)
                #expect(await reached { log.all.count(where: { $0.hasPrefix("did") }) > number })
            }
        }
        #expect(
            log.all == [
                "did a1 1/5", "A 1/2", "did b1 2/5", "B 1/3", "did a2 3/5", "A 2/2", "A done 2 0", "did b2 2/3",
                "B 2/3", "did b3 3/3", "B 3/3", "finish 3 0", "B done 3 0",
            ])
    }

    @Test func `three loads run at once by default, in the order of submission across tokens`() async {
        let prefetcher = ImagePrefetcher(loader: loader)
        let first = (1...4).map { "a\($0)" }
        let second = (1...4).map { "b\($0)" }
        await run(prefetcher) {
            prefetcher.prefetch(first)
            prefetcher.prefetch(second)
            for (number, url) in (first + second).enumerated() {
                await loader.waitForBegin(of: min(8, number + 3))
                loader.end(url)
            }
        }
        #expect(loader.begun.prefix(3).sorted() == ["a1", "a2", "a3"])
        #expect(loader.begun.suffix(1) == ["b4"])
        #expect(Set(loader.begun) == Set(first + second))
        #expect(loader.begun.count == 8)
        #expect(loader.maxInFlight == 3)
    }

    @Test func `an empty list completes before the call returns and has no token`() {
        let prefetcher = ImagePrefetcher(loader: loader, observer: log)
        #expect(prefetcher.prefetch([], progress: progress("A"), completed: completed("A")) == nil)
        #expect(log.all == ["A done 0 0"])
    }

    @Test func `duplicates are counted and loaded`() async {
        let loader = StubLoader { _ in .success }
        let prefetcher = ImagePrefetcher(loader: loader)
        await run(prefetcher) {
            prefetcher.prefetch(["u1", "u1", "u2"], progress: progress("A"), completed: completed("A"))
        }
        #expect(log.all == ["A 1/3", "A 2/3", "A 3/3", "A done 3 0"])
        #expect(loader.begun.sorted() == ["u1", "u1", "u2"])
    }

    @Test func `failed elements are counted as finished and skipped`() async {
        let loader = StubLoader { $0 == "bad" ? .failure(2001) : .success }
        let prefetcher = ImagePrefetcher(loader: loader, observer: log)
        await run(prefetcher) { prefetcher.prefetch(["ok", "bad", "fine"], completed: completed("A")) }
        #expect(log.all.suffix(2) == ["finish 3 1", "A done 3 1"])
    }

    @Test
    func `a cancelled token starts no load and calls no closure; the observer is called when its running loads end`()
        async throws
    {
        let prefetcher = ImagePrefetcher(loader: loader, observer: log)
        let urls = (1...10).map { "u\($0)" }
        await run(prefetcher) {
            let token = prefetcher.prefetch(urls, progress: progress("A"), completed: completed("A"))
            await loader.waitForBegin(of: 3)
            token?.cancel()
            token?.cancel()
        }
        #expect(loader.begun.count == 3)
        #expect(log.all.sorted() == ["did u1 0/0", "did u2 0/0", "did u3 0/0"])
    }

    @Test func `a cancelled token's last load causes no didFinish for another token`() async throws {
        let prefetcher = ImagePrefetcher(loader: loader, observer: log)
        await run(prefetcher) {
            let token = prefetcher.prefetch(["a"])
            prefetcher.prefetch(["b"], completed: completed("B"))
            await loader.waitForBegin(of: 2)
            token?.cancel()
            #expect(await reached { !log.all.isEmpty })
            loader.end("b")
        }
        #expect(log.all == ["did a 0/1", "did b 1/1", "finish 1 0", "B done 1 0"])
    }

    @Test func `cancelPrefetching cancels every token`() async {
        let prefetcher = ImagePrefetcher(loader: loader)
        await run(prefetcher) {
            prefetcher.prefetch(["a1", "a2"], completed: completed("A"))
            prefetcher.prefetch(["b1", "b2"], completed: completed("B"))
            await loader.waitForBegin(of: 3)
            prefetcher.cancelPrefetching()
        }
        #expect(log.all == [])
        #expect(loader.begun.count == 3)
    }

    @Test func `loads cancelled by the loader are skipped, and the token completes`() async {
        let prefetcher = ImagePrefetcher(loader: loader)
        await run(prefetcher) {
            prefetcher.prefetch(["a", "b", "c"], completed: completed("A"))
            await loader.waitForBegin(of: 3)
            for url in ["a", "b", "c"] { loader.end(url, .failure(2002)) }
        }
        #expect(log.all == ["A done 3 3"])
    }

    @Test func `a list submitted from a completion is loaded`() async {
        let loader = StubLoader { _ in .success }
        let prefetcher = ImagePrefetcher(loader: loader)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            prefetcher.prefetch(
                ["a"], completed: { _ in prefetcher.prefetch(["b"], completed: { _ in prefetcher.finish() }) })
        }
        #expect(loader.begun == ["a", "b"])
    }

    @Test(arguments: [false, true])
    func `a second run loads until the next finish`(firstIsCancelled: Bool) async {
        let loader = StubLoader { _ in .success }
        let prefetcher = ImagePrefetcher(loader: loader)
        await withTaskGroup(of: Void.self) { group in
            if firstIsCancelled { group.cancelAll() }
            prefetcher.finish()
            group.addTask { await prefetcher.run() }
        }
        await withTaskGroup(of: Void.self) { group in
            prefetcher.prefetch(
                ["a"], completed: { _ in prefetcher.prefetch(["b"], completed: { _ in prefetcher.finish() }) })
            group.addTask { await prefetcher.run() }
        }
        #expect(loader.begun == ["a", "b"])
    }

    @Test func `the default option is LowPriority`() {
        #expect(PrefetchOptions().options == .lowPriority)
        #expect(PrefetchOptions().options.rawValue == 2)
    }

    @Test func `cancelling the task of run cancels its loads and starts no more`() async {
        let prefetcher = ImagePrefetcher(loader: loader)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await prefetcher.run() }
            prefetcher.prefetch(["a", "b", "c", "d"])
            await loader.waitForBegin(of: 3)
            group.cancelAll()
        }
        #expect(loader.begun.count == 3)
    }
}
