import Concurrency
import Glibc
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PooledExecutorTests {
    /// An actor that counts how many of its calls run at once.
    actor Counter {
        private let executor: PooledExecutor
        private nonisolated let inside = Locked((now: 0, most: 0))
        private var order: [Int] = []

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        nonisolated var most: Int { inside.withLock { $0.most } }

        init(_ pool: ThreadPool) { executor = PooledExecutor(pool) }

        /// Blocks its thread until others have had a chance to run; returns the thread.
        func call(_ number: Int) -> UInt {
            inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            for _ in 0..<50 { sched_yield() }
            inside.withLock { $0.now -= 1 }
            order.append(number)
            return UInt(pthread_self())
        }

        func calls() -> [Int] { order }
    }

    @Test func `calls of an actor run one at a time on the threads of its pool`() async {
        let pool = ThreadPool(name: "pooled", threads: 3)
        let actor = Counter(pool)
        let threads = await withTaskGroup(of: UInt.self) { group in
            for number in 0..<200 { group.addTask { await actor.call(number) } }
            return await group.reduce(into: Set<UInt>()) { $0.insert($1) }
        }
        #expect(actor.most == 1)
        #expect(await actor.calls().sorted() == Array(0..<200))
        #expect((1...3).contains(threads.count))
        #expect(!threads.contains(UInt(pthread_self())))
    }

    @Test func `many actors share one thread`() async {
        let pool = ThreadPool(name: "pooled", threads: 1)
        let threads = await withTaskGroup(of: UInt.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let actor = Counter(pool)
                    _ = await actor.call(number)
                    return await actor.call(number)
                }
            }
            return await group.reduce(into: Set<UInt>()) { $0.insert($1) }
        }
        #expect(threads.count == 1)
    }

    @Test func `a call that blocks does not delay another actor while a thread is free`() async {
        let pool = ThreadPool(name: "pooled", threads: 2)
        let (first, second) = (Blocked(pool), Blocked(pool))
        let gate = ConditionLock(false)
        async let held: Void = first.wait(for: gate)
        await second.open(gate)
        await held
        #expect(await first.isDone)
    }

    actor Blocked {
        private let executor: PooledExecutor
        private(set) var isDone = false

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        init(_ pool: ThreadPool) { executor = PooledExecutor(pool) }

        func wait(for gate: ConditionLock<Bool>) {
            gate.wait { $0 ? () : nil }
            isDone = true
        }

        func open(_ gate: ConditionLock<Bool>) { gate.change(wakingAll: true) { $0 = true } }
    }
}
