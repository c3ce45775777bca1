import Testing

@testable import ObjectStore

/// Which names of a bucket are known, without a server.
@Suite(.timeLimit(.minutes(1)))
struct KnownNamesTests {
    private let start = ContinuousClock.now
    private var later: ContinuousClock.Instant { start + .seconds(600) }

    private func listed(_ names: String...) -> KnownNames {
        var known = KnownNames()
        let begins = known.begins(at: start)
        #expect(begins)
        known.finish(Set(names.map(KnownNames.hash)), at: start)
        return known
    }

    @Test func `only a name that the listing did not have is certainly missing`() {
        #expect(!KnownNames().lacks("a"))
        let known = listed("a")
        #expect(!known.lacks("a"))
        #expect(known.lacks("b"))
    }

    @Test func `one caller lists, and files stored meanwhile are known`() {
        var known = KnownNames()
        #expect(known.begins(at: start) == true)
        #expect(known.begins(at: later) == false)
        known.insert("b")
        #expect(!known.lacks("c"))
        known.finish([KnownNames.hash("a")], at: start)
        #expect(!known.lacks("a"))
        #expect(!known.lacks("b"))
        #expect(known.lacks("c"))
    }

    @Test func `names are listed again after ten minutes, and the old list answers meanwhile`() {
        var known = listed("a")
        #expect(known.begins(at: later - .seconds(1)) == false)
        #expect(known.begins(at: later) == true)
        known.insert("b")
        #expect(!known.lacks("a"))
        #expect(!known.lacks("b"))
        #expect(known.lacks("c"))
        known.finish([KnownNames.hash("c")], at: later)
        #expect(known.lacks("a"))
        #expect(!known.lacks("b"))
        #expect(!known.lacks("c"))
    }

    @Test func `after a listing that failed each name is asked for, and the next caller lists again`() {
        var known = listed("a")
        let begins = known.begins(at: later)
        #expect(begins)
        known.finish(nil, at: later)
        #expect(!known.lacks("b"))
        #expect(known.begins(at: later) == true)
    }

    @Test func `of a store with too many names none is held, and it is not listed again`() {
        var known = KnownNames()
        let begins = known.begins(at: start)
        #expect(begins)
        known.finish(nil, isTooMany: true, at: start)
        known.insert("a")
        #expect(!known.lacks("b"))
        #expect(known.begins(at: start) == false)
        #expect(known.begins(at: later) == false)
    }
}
