import Concurrency
import FoundationEssentials
import Glibc
import Terminal

/// How a worker of a run is started: in its own session, and killed with this process.
struct ChaosLaunch: Sendable {
    var name: String
    let program: String
    let arguments: [String]
    var hasNetwork = true
    var clock: (library: String, file: String)?

    var command: [String] {
        ["--pdeathsig", "KILL", "--"] + (hasNetwork ? [] : ["unshare", "-n"])
            + (clock.map { ["env", "LD_PRELOAD=\($0.library)", "FAKETIME_TIMESTAMP_FILE=\($0.file)"] } ?? [])
            + [program] + arguments
    }
}

/// A worker process and its replacements.
final class ChaosWorker {
    let launch: ChaosLaunch
    private let environment: [String]
    private let log: String
    private var child: ChildProcess?
    private(set) var process: Int32 = 0
    /// Whether the run ended it, so that its end is no violation.
    private(set) var isEnded = false
    /// When it is restarted; nil for never.
    var startsAt: ContinuousClock.Instant? = .now

    init(_ launch: ChaosLaunch, home: String, logs: String) {
        self.launch = launch
        log = "\(logs)/\(launch.name).log"
        let inherited = ProcessInfo.processInfo.environment.filter {
            ["PATH", "TMPDIR", "LANG"].contains($0.key) || $0.key.hasPrefix("OTEL_")
        }
        environment =
            inherited.map { "\($0.key)=\($0.value)" } + [
                "HOME=\(home)", "LARDER_HOME=\(home)/worker", "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
            ]
    }

    var isRunning: Bool { child != nil }

    func start() throws {
        let output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard output >= 0 else { throw CommandError.file("write", log) }
        defer { close(output) }
        // `setsid` does not fork, because a spawned process leads no group.
        let made = try ChildProcess(
            "setsid", ["setpriv"] + launch.command, environment: environment, descriptors: [-1, output, output])
        process = made.processID
        child = consume made
        isEnded = false
        startsAt = nil
    }

    func signal(_ number: Int32, isEnd: Bool = false) {
        if isEnd { isEnded = true }
        child?.kill(number)
    }

    /// How it ended by itself; nil while it runs and if the run ended it.
    func reap() -> String? {
        guard let status = child?.poll() else { return nil }
        child = nil
        if isEnded { return nil }
        return "worker \(launch.name) ended by itself (\(status)): \(lastLines)"
    }

    /// The end of its log, in one line.
    var lastLines: String {
        let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n").suffix(2) ?? []
        return String(lines.joined(separator: " | ").prefix(400))
    }

    var transcoders: [Int32] {
        guard child != nil else { return [] }
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            let list = (try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)) ?? ""
            return list.split(separator: " ").compactMap { Int32($0) }
        }
    }
}
