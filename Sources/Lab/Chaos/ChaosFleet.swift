import Concurrency
import FoundationEssentials
import Glibc

/// The workers of a run. Starts them, and restarts those that end, as a service manager does.
///
/// Has its own thread: the kernel kills the workers when the thread that started them ends.
actor ChaosFleet {
    private let thread = EventLoop(name: "chaos-fleet")
    private let place: (home: String, logs: String)
    private let ledger: ChaosLedger
    private var workers: [ChaosWorker] = []
    /// Process ids of all workers so far, also their session ids.
    private var sessions: Set<Int32> = []
    private var isEnding = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(home: String, logs: String, ledger: ChaosLedger) {
        place = (home, logs)
        self.ledger = ledger
    }

    deinit { thread.stop() }

    func add(_ launch: ChaosLaunch) throws {
        let worker = ChaosWorker(launch, home: place.home, logs: place.logs)
        workers.append(worker)
        try start(worker)
    }

    private func start(_ worker: ChaosWorker) throws {
        try worker.start()
        sessions.insert(worker.process)
    }

    /// Reaps ended workers and restarts them when due.
    func supervise() throws {
        for worker in workers {
            if let end = worker.reap() {
                ledger.violated(end)
                worker.startsAt = .now + .seconds(1)
            }
            guard !isEnding, !worker.isRunning, let time = worker.startsAt, time <= .now else { continue }
            try start(worker)
        }
    }

    /// Kills a worker, which restarts a moment later, and returns its process id; nil if none runs.
    func kill(_ target: Int) -> Int32? {
        guard let worker = running(target) else { return nil }
        worker.signal(SIGKILL, isEnd: true)
        worker.startsAt = .now + .milliseconds(300)
        return worker.process
    }

    /// Sends SIGSTOP to a worker and returns its process id; nil if none runs.
    func stop(_ target: Int) -> Int32? {
        guard let worker = running(target) else { return nil }
        worker.signal(SIGSTOP)
        return worker.process
    }

    /// Continues a stopped worker, unless it has ended.
    func resume(_ process: Int32) { workers.first { $0.isRunning && $0.process == process }?.signal(SIGCONT) }

    /// Sends a signal to a transcoder and returns its process id; nil if there is none.
    func signalTranscoder(_ target: Int, _ number: Int32) -> Int32? {
        let all = workers.flatMap(\.transcoders)
        guard !all.isEmpty else { return nil }
        let process = all[target % all.count]
        return Glibc.kill(process, number) == 0 ? process : nil
    }

    /// Ends an added worker for good, within 8 s.
    func remove(_ name: String) async {
        guard let worker = workers.first(where: { $0.launch.name == name }) else { return }
        worker.startsAt = nil
        worker.signal(SIGCONT)
        worker.signal(SIGTERM, isEnd: true)
        let limit = ContinuousClock.now + .seconds(8)
        while worker.isRunning, .now < limit {
            _ = worker.reap()
            try? await Task.sleep(for: .milliseconds(50))
        }
        worker.signal(SIGKILL, isEnd: true)
        while worker.isRunning {
            _ = worker.reap()
            try? await Task.sleep(for: .milliseconds(10))
        }
        workers.removeAll { $0 === worker }
    }

    /// Ends all workers: those still running 20 s after SIGTERM are violations and are killed.
    func end() async {
        isEnding = true
        for worker in workers {
            worker.signal(SIGCONT)
            worker.signal(SIGTERM, isEnd: true)
        }
        let limit = ContinuousClock.now + .seconds(20)
        while workers.contains(where: \.isRunning), .now < limit {
            for worker in workers { _ = worker.reap() }
            try? await Task.sleep(for: .milliseconds(50))
        }
        for worker in workers where worker.isRunning {
            ledger.violated("worker \(worker.launch.name) did not end within 20 s of SIGTERM: \(worker.lastLines)")
            worker.signal(SIGKILL, isEnd: true)
        }
        while workers.contains(where: \.isRunning) {
            for worker in workers { _ = worker.reap() }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Processes left behind by a worker of this run, as `pid command`.
    func leftovers() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { name in
            guard Int32(name) != nil, let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)
            else { return nil }
            // 12 (command) S parent group session …; a command may contain spaces.
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 3, let session = Int32(fields[3]), sessions.contains(session) else { return nil }
            return "\(name) \(text.split(separator: "(").last?.split(separator: ")").first ?? "")"
        }
    }

    /// One of the running workers that are not being ended.
    private func running(_ target: Int) -> ChaosWorker? {
        let all = workers.filter { $0.isRunning && !$0.isEnded }
        return all.isEmpty ? nil : all[target % all.count]
    }
}
