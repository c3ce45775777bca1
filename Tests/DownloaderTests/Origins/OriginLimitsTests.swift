import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct OriginLimitsTests {
    private let a = Origin(scheme: .https, host: "a", port: 443)
    private let b = Origin(scheme: .https, host: "b", port: 443)
    private let start = ContinuousClock.now

    private func limits(
        total: Int = 10, perOrigin: Int = 4, streams: Int = 8, _ change: (inout FetchConfiguration) -> Void = { _ in }
    ) -> OriginLimits {
        var configuration = FetchConfiguration()
        configuration.transfers = total
        configuration.transfersPerOrigin = perOrigin
        configuration.streamsPerOrigin = streams
        configuration.origins.maxWait = .zero
        change(&configuration)
        return OriginLimits(configuration)
    }

    // MARK: - Connections and order

    @Test func `an origin whose connections are busy does not delay another one`() {
        var limits = limits(perOrigin: 2)
        for ticket in 1...5 { limits.wait(UInt64(ticket), a, at: start) }
        limits.wait(6, b, at: start)
        let permits = limits.startAll(at: start)
        #expect(permits.keys.sorted() == [1, 2, 6])
        limits.end(permits[1], .unknown, at: start)
        #expect(limits.startAll(at: start).keys.sorted() == [3])
        #expect(limits.waitingCount == 2)
    }

    @Test func `the limit of all transfers applies, in the order of the requests`() {
        var limits = limits(total: 3, perOrigin: 2)
        for (ticket, origin) in [(1, b), (2, a), (3, b), (4, a)] { limits.wait(UInt64(ticket), origin, at: start) }
        let permits = limits.startAll(at: start)
        #expect(permits.keys.sorted() == [1, 2, 3])
        limits.end(permits[1], .unknown, at: start)
        #expect(limits.startAll(at: start).keys.sorted() == [4])
    }

    @Test func `an origin with HTTP/2 receives its streams while it is busy`() {
        var limits = limits(perOrigin: 1, streams: 3)
        for ticket in 1...5 { limits.wait(UInt64(ticket), a, at: start) }
        let permits = limits.startAll(at: start)
        #expect(permits.keys.sorted() == [1])
        if let permit = permits[1] { limits.http2Succeeded(permit, began: start) }
        limits.end(permits[1], .answered(status: 200), at: start)
        #expect(limits.startAll(at: start).keys.sorted() == [2, 3, 4])
    }

    @Test func `after two failures of HTTP/2 an origin has its connections only`() {
        var limits = limits(perOrigin: 1, streams: 3)
        limits.wait(1, a, at: start)
        guard let permit = limits.startAll(at: start)[1] else { return #expect(Bool(false)) }
        #expect(permit.allowsHTTP2)
        limits.http2Succeeded(permit, began: start)
        let isAvoided = (1...2).map {
            limits.http2Failed(permit, began: start + .seconds($0), at: start + .seconds($0))
        }
        #expect(isAvoided == [false, true])
        limits.wait(2, a, at: start)
        #expect(limits.startAll(at: start + .seconds(3)).isEmpty)
        limits.end(permit, .unknown, at: start + .seconds(3))
        #expect(limits.startAll(at: start + .seconds(3))[2]?.allowsHTTP2 == false)
    }

    @Test func `a removed transfer does not start`() {
        var limits = limits(perOrigin: 1)
        for ticket in 1...3 { limits.wait(UInt64(ticket), a, at: start) }
        let permits = limits.startAll(at: start)
        let removed = [2, 2, 1].map { limits.remove($0, a) }
        #expect(removed == [true, false, false])
        limits.end(permits[1], .unknown, at: start)
        #expect(limits.startAll(at: start).keys.sorted() == [3])
    }

    /// The order in which the tickets start when one transfer runs at a time.
    private func order(_ limits: inout OriginLimits, _ count: Int) -> [UInt64] {
        (0..<count).compactMap { _ in
            let next = limits.startAll(at: start).first
            limits.end(next?.value, .unknown, at: start)
            return next?.key
        }
    }

    @Test func `the higher priority starts first, and then the earlier request`() {
        var limits = limits(total: 1, perOrigin: 1)
        for (ticket, priority) in [(2, .low), (3, .normal), (4, .high), (5, .high), (6, .normal)]
            as [(UInt64, FetchPriority)]
        {
            limits.wait(ticket, ticket % 2 == 0 ? a : b, priority, at: start)
        }
        #expect(order(&limits, 5) == [4, 5, 3, 6, 2])
    }

    @Test func `in LIFO order the last request starts first, independent of its priority (spec 3.3)`() {
        var limits = limits(total: 1, perOrigin: 1) { $0.order = .lifo }
        limits.wait(1, a, .high, at: start)
        var started = order(&limits, 1)
        for ticket in 2...7 { limits.wait(UInt64(ticket), a, ticket == 3 ? .high : .low, at: start) }
        started += order(&limits, 1)
        for ticket in 8...14 { limits.wait(UInt64(ticket), a, at: start) }
        started += order(&limits, 12)
        #expect(started == [1, 7, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 3, 2])
        #expect(limits.next(at: start) == .wait(until: nil))
    }

    // MARK: - Holds, breakers, rates

    @Test func `a reduced origin receives one request at a time`() {
        var limits = limits(perOrigin: 2)
        limits.wait(1, a, at: start)
        limits.end(limits.startAll(at: start)[1], .answered(status: 429, retryAfter: .zero), at: start)
        for ticket in 2...21 { limits.wait(UInt64(ticket), a, at: start) }
        for ticket in 2...21 {
            let permits = limits.startAll(at: start)
            #expect(permits.keys.sorted() == [UInt64(ticket)])
            limits.end(permits[UInt64(ticket)], .unknown, at: start)
        }
    }

    @Test func `a hold refuses the transfers that wait at once`() {
        var limits = limits(perOrigin: 1)
        limits.wait(1, a, at: start)
        limits.wait(2, a, at: start)
        let permits = limits.startAll(at: start)
        limits.end(permits[1], .answered(status: 503, retryAfter: .seconds(60)), at: start)
        #expect(limits.refusal(a, at: start) == .held(until: start + .seconds(60)))
        #expect(limits.next(at: start) == .refuse(2, .held(until: start + .seconds(60))))
        #expect(limits.next(at: start) == .wait(until: nil))
    }

    @Test func `with a maximum wait a transfer waits for the end of a hold`() {
        var limits = limits(perOrigin: 1) { $0.origins.maxWait = .seconds(60) }
        limits.wait(1, a, at: start)
        limits.end(limits.startAll(at: start)[1], .answered(status: 429, retryAfter: .seconds(50)), at: start)
        limits.wait(2, a, at: start)
        #expect(limits.refusal(a, at: start) == nil)
        #expect(limits.next(at: start) == .wait(until: start + .seconds(50)))
        let permits = limits.startAll(at: start + .seconds(50))
        #expect(permits.keys.sorted() == [2])
        limits.wait(3, a, at: start + .seconds(50))
        limits.end(permits[2], .answered(status: 429, retryAfter: .seconds(70)), at: start + .seconds(50))
        #expect(limits.next(at: start + .seconds(50)) == .refuse(3, .held(until: start + .seconds(120))))
    }

    @Test func `after the time of an open breaker one of fifty starts as the probe; its success admits all`() {
        var limits = limits(total: 100, perOrigin: 100) { $0.origins.failures = 1 }
        limits.wait(0, a, at: start)
        limits.end(limits.startAll(at: start)[0], .failed(.timedOut), at: start)
        let later = start + .seconds(60)
        for ticket in 1...50 { limits.wait(UInt64(ticket), a, at: later) }
        _ = limits.takeChanges()
        guard case .start(1, let probe) = limits.next(at: later) else { return #expect(Bool(false)) }
        #expect(probe.isProbe)
        let opened = OriginChange.opened(for: .seconds(60), OriginFailure(code: .timedOut, httpStatus: nil))
        #expect(limits.takeChanges() == [a: [opened]], "other workers do not probe meanwhile")
        for _ in 2...50 {
            guard case .refuse(_, let refusal) = limits.next(at: later) else { return #expect(Bool(false)) }
            #expect(refusal == .held(until: later + OriginState.probePause))
        }
        limits.end(probe, .answered(status: 404), at: later)
        for ticket in 51...100 { limits.wait(UInt64(ticket), a, at: later) }
        #expect(limits.startAll(at: later).count == 50)
    }

    @Test func `a failed probe opens the breaker again; a cancelled one leaves the probe to the next transfer`() {
        var limits = limits { $0.origins.failures = 1 }
        limits.wait(1, a, at: start)
        limits.end(limits.startAll(at: start)[1], .answered(status: 500), at: start)
        let later = start + .seconds(60)
        limits.wait(2, a, at: later)
        let cancelled = limits.startAll(at: later)[2]
        limits.end(cancelled, .unknown, at: later)
        limits.wait(3, a, at: later)
        let probe = limits.startAll(at: later)[3]
        #expect(cancelled?.isProbe == true)
        #expect(probe?.isProbe == true)
        limits.end(probe, .answered(status: 500), at: later)
        #expect(limits.refusal(a, at: later) == .held(until: later + .seconds(60)))
    }

    @Test func `an origin that is given up refuses with the failure that opened its breaker`() throws {
        var limits = limits { ($0.origins.failures, $0.origins.probes) = (2, 0) }
        for ticket in 1...2 {
            limits.wait(UInt64(ticket), a, at: start)
            limits.end(limits.startAll(at: start)[UInt64(ticket)], .failed(.cannotConnect), at: start)
        }
        let refusal = try #require(limits.refusal(a, at: start))
        let error = refusal.error(try SourceURL("https://a/x"), limits.settings)
        #expect(error.code == .cannotConnect)
        #expect(error.domain == "NSURLErrorDomain")
        #expect(error.domainCode == -1004)
        #expect(limits.takeChanges().isEmpty, "so that its jobs are claimed")
    }

    @Test func `a rate starts requests evenly; those that would wait too long are to be repeated one after another`() {
        var limits = limits(total: 1000, perOrigin: 1000) { $0.origins.rate = 10 }
        for ticket in 0...50 { limits.wait(UInt64(ticket), a, at: start) }
        #expect(limits.enqueue(51, a, at: start) == .held(until: start + .seconds(5)))
        #expect(limits.enqueue(52, a, at: start) == .held(until: start + .milliseconds(5100)))
        for number in 0...50 {
            let now = start + .milliseconds(100) * number
            #expect(limits.startAll(at: now).keys.sorted() == [UInt64(number)])
            if number < 50 { #expect(limits.next(at: now) == .wait(until: now + .milliseconds(100))) }
        }
    }

    // MARK: - Memory

    @Test func `changes that could not be reported are kept, and newer ones replace them`() {
        var limits = limits()
        limits.wait(1, a, at: start)
        limits.end(limits.startAll(at: start)[1], .answered(status: 503, retryAfter: .seconds(1)), at: start)
        let first = limits.takeChanges()
        #expect(first == [a: [.held(for: .seconds(1))]])
        limits.putBack(first)
        #expect(limits.takeChanges() == first)
        #expect(limits.takeChanges().isEmpty)
        limits.wait(2, a, at: start + .seconds(1))
        let permits = limits.startAll(at: start + .seconds(1))
        limits.end(permits[2], .answered(status: 503, retryAfter: .seconds(9)), at: start + .seconds(1))
        limits.putBack(first)
        #expect(limits.takeChanges() == [a: [.held(for: .seconds(9))]])
    }

    @Test func `the number of remembered origins is bounded, and those without a restriction are removed first`() {
        var limits = limits {
            $0.origins.remembered = 64
            $0.origins.failures = 1
        }
        func origin(_ number: Int) -> Origin { Origin(scheme: .http, host: "h\(number).example", port: 80) }
        func request(_ number: Int, _ outcome: RequestOutcome) {
            limits.wait(UInt64(number), origin(number), at: start)
            limits.end(limits.startAll(at: start)[UInt64(number)], outcome, at: start)
            #expect(limits.count <= 64)
        }
        for number in 0..<40 { request(number, .failed(.timedOut)) }
        for number in 1000..<2000 { request(number, .answered(status: 200)) }
        for number in 0..<40 { #expect(limits.refusal(origin(number), at: start) != nil) }
        for number in 2000..<3000 { request(number, .failed(.timedOut)) }
    }

    @Test func `of too many origins that are held, those whose hold ends first are forgotten`() {
        var limits = limits { $0.origins.remembered = 64 }
        func origin(_ number: Int) -> Origin { Origin(scheme: .http, host: "h\(number).example", port: 80) }
        for number in 0..<500 {
            let pause = Duration.seconds(number < 20 ? 3_000 : 60)
            limits.wait(UInt64(number), origin(number), at: start)
            limits.end(
                limits.startAll(at: start)[UInt64(number)], .answered(status: 503, retryAfter: pause), at: start)
        }
        #expect(limits.count <= 64)
        for number in 0..<20 { #expect(limits.refusal(origin(number), at: start) != nil) }
    }
}

extension OriginLimits {
    /// Enqueues a transfer that must not be refused.
    fileprivate mutating func wait(
        _ ticket: UInt64, _ origin: Origin, _ priority: FetchPriority = .normal, at now: Instant
    ) {
        #expect(enqueue(ticket, origin, priority, at: now) == nil)
    }

    /// Starts everything that may start now.
    fileprivate mutating func startAll(at now: Instant) -> [UInt64: OriginPermit] {
        var started: [UInt64: OriginPermit] = [:]
        while case .start(let ticket, let permit) = next(at: now) { started[ticket] = permit }
        return started
    }

    fileprivate mutating func end(_ permit: OriginPermit?, _ outcome: RequestOutcome, at now: Instant) {
        guard let permit else { return #expect(Bool(false), "not started") }
        let _: Bool = end(permit, outcome, at: now)
    }
}
