import Testing

@testable import Prefetcher

struct CacheDecisionTests {
    private func decision(
        original: Bool, wanted: Int = 1, missing: Int = 1, refreshes: Bool = false, mayDownload: Bool = true
    ) -> CacheDecision {
        CacheDecision(
            hasOriginal: original, wanted: wanted, missing: missing, refreshes: refreshes, mayDownload: mayDownload)
    }

    @Test func `a cached image is used; a missing one is downloaded if allowed`() {
        #expect(decision(original: true, missing: 0) == .useCached)
        #expect(decision(original: true) == .useCached)
        #expect(decision(original: false) == .download)
        #expect(decision(original: false, mayDownload: false) == .unavailable)
    }

    @Test func `cached variants suffice without their original`() {
        #expect(decision(original: false, missing: 0) == .useCached)
        #expect(decision(original: false, wanted: 0, missing: 0) == .download)
        #expect(decision(original: false, wanted: 2, missing: 1) == .download)
    }

    @Test func `RefreshCached always sends a request unless downloads are not allowed`() {
        #expect(decision(original: true, missing: 0, refreshes: true) == .revalidate)
        #expect(decision(original: false, missing: 0, refreshes: true) == .download)
        #expect(decision(original: true, refreshes: true, mayDownload: false) == .useCached)
        #expect(decision(original: false, refreshes: true, mayDownload: false) == .unavailable)
    }
}
