import Testing

@testable import Lab

/// The timeline of `larder-lab chaos` is a value: no process is started here.
struct FaultPlanTests {
    @Test func `the same seed gives the same timeline, another seed another one`() {
        let plan = FaultPlan(seed: 7, seconds: 90, kinds: FaultKind.allCases)
        #expect(plan == FaultPlan(seed: 7, seconds: 90, kinds: FaultKind.allCases))
        #expect(plan != FaultPlan(seed: 8, seconds: 90, kinds: FaultKind.allCases))
        let first = plan.injections.map(\.kind.rawValue).prefix(3)
        #expect(
            Array(first) == ["database-drop", "worker-stop", "held-snapshot"],
            "a change of this list changes every recorded seed")
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a run of 90 s injects every kind`(seed: UInt64) {
        let plan = FaultPlan(seed: seed, seconds: 90, kinds: FaultKind.allCases)
        #expect(Set(plan.injections.map(\.kind)) == Set(FaultKind.allCases))
        // In the first round no kind is repeated.
        #expect(Set(plan.injections.prefix(10).map(\.kind)).count == 10)
    }

    @Test(arguments: [5, 30, 90, 600] as [Double])
    func `faults lie within the run, and faults of one group never overlap`(seconds: Double) {
        for seed in 0..<50 as Range<UInt64> {
            let plan = FaultPlan(seed: seed, seconds: seconds, kinds: FaultKind.allCases)
            var free: [String: Double] = [:]
            for fault in plan.injections {
                #expect(fault.start >= FaultPlan.warmUp)
                #expect(fault.start <= fault.end)
                #expect(fault.end <= seconds)
                #expect(fault.end - fault.start <= fault.kind.duration.upperBound)
                #expect(fault.start >= free[fault.kind.group] ?? 0, "\(seed): \(fault)")
                free[fault.kind.group] = fault.end
            }
            #expect(plan.injections.map(\.start) == plan.injections.map(\.start).sorted())
        }
    }

    @Test func `an hour has 200 kills of workers, 50 stops of the database and 20 faults of each other kind`() {
        let plan = FaultPlan(seed: 1, seconds: 3600, kinds: FaultKind.allCases)
        let counts = Dictionary(grouping: plan.injections, by: \.kind).mapValues(\.count)
        for kind in FaultKind.allCases {
            let least = kind == .workerKill ? 200 : kind == .databaseStop ? 50 : 20
            #expect(counts[kind, default: 0] >= least, "\(kind.rawValue)")
        }
    }

    @Test func `some stretches of a run have one fault at a time and others several`() {
        let plan = FaultPlan(seed: 3, seconds: 600, kinds: FaultKind.allCases)
        let pairs = zip(plan.injections, plan.injections.dropFirst())
        let overlapping = pairs.filter { $1.start < $0.end }.count
        #expect(overlapping > 10)
        #expect(overlapping < plan.injections.count / 2)
    }

    @Test func `only the chosen kinds are injected`() {
        let plan = FaultPlan(seed: 1, seconds: 60, kinds: [.workerKill, .originDrop])
        #expect(Set(plan.injections.map(\.kind)) == [.workerKill, .originDrop])
        #expect(FaultPlan(seed: 1, seconds: 60, kinds: []).injections == [])
    }

    @Test func `images differ by their number and are recomputed equal`() {
        #expect(ChaosImage.bytes(1) == ChaosImage.bytes(1))
        #expect(ChaosImage.bytes(1) != ChaosImage.bytes(2))
        #expect(ChaosImage.bytes(1, edition: 1) != ChaosImage.bytes(1, edition: 2))
        #expect(ChaosImage.edition(of: ChaosImage.bytes(1, edition: 70_000)) == 70_000)
        #expect(ChaosImage.bytes(3).starts(with: [0x89, 0x50, 0x4e, 0x47]))
    }
}
