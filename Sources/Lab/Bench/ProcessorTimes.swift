import FoundationEssentials
import Glibc
import Measuring

/// Processor seconds from /proc.
struct ProcessorTimes: Sendable {
    /// The server with all its processes, the pooler, and this process.
    var postgres: Double, pooler: Double, own: Double
    /// All processes of the machine.
    var machine: Double

    /// - Parameters:
    ///   - postmaster: the server's first process, which includes its ended children.
    ///   - pooler: the pooler's process.
    init(postmaster: Int32, pooler: Int32) {
        postgres = 0
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let id = Int32(name), let process = Self.process(id) else { continue }
            if id == postmaster { postgres += process.own + process.ended }
            if process.parent == postmaster { postgres += process.own }
        }
        self.pooler = Self.process(pooler)?.own ?? 0
        own = processorSeconds
        // cpu user nice system idle iowait irq softirq steal …
        let fields = (Self.text("/proc/stat").split(separator: "\n").first ?? "").split(separator: " ").dropFirst()
        let ticks = fields.compactMap { Double($0) }
        machine = ticks.enumerated().filter { ![3, 4].contains($0.offset) && $0.offset < 8 }.reduce(0) {
            $0 + $1.element / Self.ticks
        }
    }

    private static let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// A process's parent and times, and the times of its ended children; nil if it has ended.
    private static func process(_ id: Int32) -> (parent: Int32, own: Double, ended: Double)? {
        // The name in the second field may contain anything.
        guard let rest = text("/proc/\(id)/stat").split(separator: ")").last else { return nil }
        let fields = rest.split(separator: " ")
        guard fields.count > 15, let parent = Int32(fields[1]) else { return nil }
        func seconds(_ index: Int) -> Double { (Double(fields[index]) ?? 0) / ticks }
        return (parent, seconds(11) + seconds(12), seconds(13) + seconds(14))
    }

    static func - (later: ProcessorTimes, earlier: ProcessorTimes) -> ProcessorTimes {
        var times = later
        times.postgres -= earlier.postgres
        times.pooler -= earlier.pooler
        times.own -= earlier.own
        times.machine -= earlier.machine
        return times
    }
}
