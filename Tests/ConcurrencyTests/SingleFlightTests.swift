import Concurrency
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SingleFlightTests {
    private let singleFlight = SingleFlight<String, Int>()
    private let begun = AsyncEvent()
    private let gate = AsyncEvent()
    private let runs = Locked(0)

    /// Counts its runs, reports that it runs and waits for the gate; a cancelled run ends at once with -1.
    private func work() async -> Int {
        let run = runs.withLock { runs in
            runs += 1
            return runs
        }
        begun.signal()
        await gate.wait()
        return Task.isCancelled ? -1 : run
    }

    private func waiters(_ count: Int) async {
        while singleFlight.waiterCount != count { await Task.yield() }
    }

    @Test func `the first caller runs the work and all callers get its value`() async {
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<20 { group.addTask { await singleFlight.run("a", work) } }
            await waiters(19)
            gate.signal()
            for await value in group { #expect(value == 1) }
        }
        #expect(runs.withLock { $0 } == 1)
        #expect(singleFlight.waiterCount == 0)
    }

    @Test func `work of another key, or after the end, runs by itself`() async {
        gate.signal()
        #expect(await singleFlight.run("a", work) == 1)
        gate.signal()
        #expect(await singleFlight.run("a", work) == 2)
        async let held = singleFlight.run("a", work)
        await waiters(0)
        #expect(await singleFlight.run("b") { 7 } == 7)
        gate.signal()
        #expect(await held == 3)
    }

    @Test func `a cancelled waiter leaves and the work goes on`() async {
        async let first = singleFlight.run("a", work)
        await begun.wait()
        await withTaskGroup(of: Int?.self) { group in
            group.addTask { await singleFlight.run("a", work) }
            await waiters(1)
            group.cancelAll()
            #expect(await group.next() == .some(nil))
        }
        gate.signal()
        #expect(await first == 1)
    }

    @Test func `a waiter takes over from a cancelled caller`() async {
        await withTaskGroup(of: Int?.self) { others in
            await withTaskGroup(of: Int?.self) { first in
                first.addTask { await singleFlight.run("a", work) }
                await begun.wait()
                for _ in 0..<3 { others.addTask { await singleFlight.run("a", work) } }
                await waiters(3)
                first.cancelAll()
                #expect(await first.next() == -1)
            }
            await begun.wait()
            gate.signal()
            for await value in others { #expect(value == 2) }
        }
        #expect(runs.withLock { $0 } == 2)
    }

    @Test func `work without waiters is cancelled with its caller`() async {
        await withTaskGroup(of: Int?.self) { group in
            group.addTask { await singleFlight.run("a", work) }
            await begun.wait()
            group.cancelAll()
            #expect(await group.next() == -1)
        }
        #expect(await singleFlight.run("a") { 5 } == 5)
    }

    @Test func `a value that is not shared makes the next waiter run its own work`() async {
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<3 {
                group.addTask { await singleFlight.run("a", sharing: { $0 == 2 }, work) }
            }
            await waiters(2)
            gate.signal()
            await waiters(1)
            gate.signal()
            var values: [Int?] = []
            for await value in group { values.append(value) }
            #expect(values.compactMap { $0 }.sorted() == [1, 2, 2])
        }
    }

    @Test func `a task that was cancelled before runs nothing`() async {
        await withTaskGroup(of: Int?.self) { group in
            group.cancelAll()
            group.addTask { await singleFlight.run("a", work) }
            #expect(await group.next() == .some(nil))
        }
        #expect(runs.withLock { $0 } == 0)
    }
}
