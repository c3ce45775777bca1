import Concurrency
import Glibc
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ThreadTests {
    actor Pinned {
        nonisolated let thread = EventLoop(name: "pinned")
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
        func current() -> UInt { UInt(pthread_self()) }
        deinit { thread.stop() }
    }

    @Test func `an actor on a dedicated thread always runs on that thread`() async {
        let actor = Pinned()
        let first = await actor.current()
        var others: Set<UInt> = []
        for _ in 0..<20 { others.insert(await actor.current()) }
        #expect(others == [first])
        #expect(UInt(pthread_self()) != first)
    }

    private enum End: Error { case late, cancelled }

    @Test func `a call that hangs is given up after its time, or when its task is cancelled`() async {
        let pool = ThreadPool(name: "pool", threads: 1), gate = ConditionLock(false)
        @Sendable func hang(_ time: Duration) async throws(End) {
            try await pool.run(within: time, late: .late, cancelled: .cancelled) { () throws(End) in
                gate.wait { $0 ? () : nil }
            }
        }
        await #expect(throws: End.late) { try await hang(.milliseconds(1)) }
        let task = Task { try await hang(.seconds(3_600)) }
        task.cancel()
        await #expect(throws: End.cancelled) { try await task.value }
        gate.change(wakingAll: true) { $0 = true }
        await #expect(throws: Never.self) { try await hang(.seconds(3_600)) }
    }

    @Test func `a task that prefers an actor's thread calls the actor on that thread and stays on it`() async {
        let actor = Pinned()
        let thread = await actor.current()
        let (before, during, after) = await withTaskExecutorPreference(actor.thread) {
            let before = UInt(pthread_self())
            return (before, await actor.current(), UInt(pthread_self()))
        }
        #expect([before, during, after] == [thread, thread, thread])
        #expect(UInt(pthread_self()) != thread)
    }

    /// Never sleeps. Its first `wake` waits a moment for the job that it is about.
    private final class WatchingPoller: EventPoller {
        let hasRun = ConditionLock(false)
        let wakes = Locked<[Bool]>([])

        func poll(mayWait: Bool) { sched_yield() }

        func wake() {
            guard wakes.withLock({ $0.isEmpty }) else { return }
            let ran = hasRun.wait(atMost: .milliseconds(50)) { $0 ? true : nil }
            wakes.withLock { $0.append(ran ?? false) }
        }
    }

    private actor Watched {
        nonisolated let thread: EventLoop
        private let poller: WatchingPoller
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        init(_ poller: WatchingPoller) {
            self.poller = poller
            thread = EventLoop(name: "watched", poller: poller)
        }

        func run() { poller.hasRun.change { $0 = true } }
        deinit { thread.stop() }
    }

    @Test func `a job starts only after the thread was woken, because it may end the executor`() async {
        let poller = WatchingPoller()
        await Watched(poller).run()
        #expect(poller.wakes.withLock { $0 } == [false])
    }

    /// Counts the polls that a flood of jobs allows.
    private final class CountingPoller: EventPoller {
        let polls = Locked(0)
        func poll(mayWait: Bool) { if !mayWait { polls.withLock { $0 += 1 } } }
        func wake() {}
    }

    private actor Flooded {
        nonisolated let thread: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        init(_ poller: CountingPoller) { thread = EventLoop(name: "flooded", poller: poller) }

        /// Each yield is a job of its own, enqueued while this one runs.
        func flood(_ turns: Int) async { for _ in 0..<turns { await Task.yield() } }
        deinit { thread.stop() }
    }

    @Test func `events are looked at while jobs follow each other`() async {
        let poller = CountingPoller()
        let actor = Flooded(poller)
        await withTaskExecutorPreference(actor.thread) { await actor.flood(200) }
        #expect(poller.polls.withLock { $0 } >= 10)
    }

    private struct Refusal: Error, Equatable {}

    @Test func `a pool returns values and typed errors`() async {
        let pool = ThreadPool(name: "pool", threads: 2)
        #expect(await pool.run { 42 } == 42)
        await #expect(throws: Refusal()) { try await pool.run { () throws(Refusal) -> Int in throw Refusal() } }
    }

    @Test func `a task that prefers a pool runs on its thread, also after it has waited`() async {
        let pool = ThreadPool(name: "pool", threads: 1)
        let thread = await pool.run { UInt(pthread_self()) }
        let actor = Pinned()
        let (before, after) = await withTaskExecutorPreference(pool) {
            let before = UInt(pthread_self())
            _ = await actor.current()
            return (before, UInt(pthread_self()))
        }
        #expect([before, after] == [thread, thread])
        #expect(UInt(pthread_self()) != thread)
    }

    @Test func `a child's exit code is distinguished from a signal that ended it`() throws {
        var child = try ChildProcess("sh", ["-c", "exit 7"])
        let code = child.wait()
        #expect(code == .exited(7))
        var sleeper = try ChildProcess("sleep", ["100"])
        sleeper.kill(SIGTERM)
        let signal = sleeper.wait()
        #expect(signal == .signalled(SIGTERM))
    }

    @Test func `a child has exactly the descriptors that it was given`() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        var child = try ChildProcess("sh", ["-c", "ls /proc/self/fd | wc -l >&1"], descriptors: [-1, ends[1], 2])
        close(ends[1])
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(ends[0], &bytes, bytes.count)
        close(ends[0])
        let end = child.wait()
        #expect(end == .exited(0))
        // ls opens one more descriptor: the directory.
        #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self) == "4\n")
    }

    @Test func `a child gets the descriptors it was given whatever their numbers are`() throws {
        // Every descriptor number up to a few hundred, as the only one and after others.
        var held: [Int32] = []
        defer { for descriptor in held { close(descriptor) } }
        while (held.last ?? 0) < 260 {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            held += ends
            var child = try ChildProcess("sh", ["-c", "echo $0 >&3", "\(ends[1])"], descriptors: [-1, 1, 2, ends[1]])
            #expect(child.wait() == .exited(0))
            #expect(write(ends[1], "!", 1) == 1, "so that reading does not wait")
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(ends[0], &bytes, bytes.count)
            #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self) == "\(ends[1])\n!")
        }
    }

    @Test func `the error names a missing program`() {
        let error = #expect(throws: SpawnError.self) { _ = try ChildProcess("/no/such/program", []) }
        #expect(error?.program == "/no/such/program")
        #expect(error?.code == ENOENT)
    }
}
