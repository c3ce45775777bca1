import Testing

@testable import Prefetcher

/// The decision whether to download, case by case.
@Suite("CacheDecision")
struct LoadStepTests {
    private func step(
        original: Bool, wanted: Int = 1, missing: Int = 1, refreshes: Bool = false, mayDownload: Bool = true
    ) -> CacheDecision {
        .next(hasOriginal: original, wanted: wanted, missing: missing, refreshes: refreshes, mayDownload: mayDownload)
    }

    @Test("what is cached is used, what is not is downloaded, if it may be")
    func plain() {
        #expect(step(original: true, missing: 0) == .useCached)
        #expect(step(original: true) == .useCached)
        #expect(step(original: false) == .download)
        #expect(step(original: false, mayDownload: false) == .nothing)
    }

    @Test("a variant answers for itself; an original alone does not for its absence")
    func withoutOriginal() {
        #expect(step(original: false, missing: 0) == .useCached)
        #expect(step(original: false, wanted: 0, missing: 0) == .download)
        #expect(step(original: false, wanted: 2, missing: 1) == .download)
    }

    @Test("RefreshCached asks whatever is cached, and asks nothing when it may not")
    func refreshing() {
        #expect(step(original: true, missing: 0, refreshes: true) == .revalidate)
        #expect(step(original: false, missing: 0, refreshes: true) == .download)
        #expect(step(original: true, refreshes: true, mayDownload: false) == .useCached)
        #expect(step(original: false, refreshes: true, mayDownload: false) == .nothing)
    }
}
