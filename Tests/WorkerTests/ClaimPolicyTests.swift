import Testing

@testable import Prefetcher
@testable import Worker

@Suite("ClaimPolicy", .timeLimit(.minutes(5)))
struct ClaimPolicyTests {
    @Test("the first step claims for every slot")
    func start() {
        #expect(ClaimPolicy(slots: 8, drains: false).step == .claim(8))
    }

    @Test("a full claim is followed by another for what is free, and by waiting when nothing is")
    func fullClaim() {
        var policy = ClaimPolicy(slots: 8, drains: false)
        policy.claimed(8, of: 8)
        #expect(policy.step == .wait(ClaimPolicy.pauses.upperBound))
        policy.freed(3)
        #expect(policy.step == .claim(3))
    }

    @Test("a short claim waits before the next")
    func shortClaim() {
        var policy = ClaimPolicy(slots: 8, drains: false)
        policy.claimed(2, of: 8)
        #expect(policy.step == .wait(ClaimPolicy.pauses.lowerBound))
        policy.waited()
        #expect(policy.step == .claim(6))
    }

    @Test("claims that bring nothing become rarer, up to the longest pause, and work makes them frequent again")
    func idle() {
        var policy = ClaimPolicy(slots: 8, drains: false)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            policy.claimed(0, of: 8)
            if case .wait(let pause) = policy.step { pauses.append(pause) }
            policy.waited()
        }
        #expect(pauses == pauses.sorted())
        #expect(pauses.count == 8)
        #expect(pauses.last == ClaimPolicy.pauses.upperBound)
        policy.claimed(1, of: 8)
        #expect(policy.step == .wait(ClaimPolicy.pauses.lowerBound))
    }

    @Test("a drain looks whether anything is left only when nothing runs here")
    func drain() {
        var policy = ClaimPolicy(slots: 4, drains: true)
        policy.claimed(1, of: 4)
        if case .look = policy.step { Issue.record("a job runs") }
        policy.freed(1)
        #expect(policy.step == .claim(4))
        policy.claimed(0, of: 4)
        #expect(policy.step == .look)
        policy.stayed()
        if case .wait = policy.step {} else { Issue.record("should wait, is \(policy.step)") }
        policy.waited()
        #expect(policy.step == .claim(4))
    }

    @Test("once stopping it claims nothing, waits for what runs, and leaves")
    func stop() {
        var policy = ClaimPolicy(slots: 4, drains: false)
        policy.claimed(2, of: 4)
        policy.stop()
        #expect(policy.step == .wait(ClaimPolicy.pauses.upperBound))
        policy.waited()
        policy.freed(2)
        #expect(policy.step == .leave)
    }

    @Test("a failed claim is not repeated without a pause")
    func failure() {
        var policy = ClaimPolicy(slots: 4, drains: true)
        policy.claimFailed()
        if case .wait = policy.step {} else { Issue.record("should wait, is \(policy.step)") }
    }
}
