import Concurrency
import Downloader
import Foundation
import Glibc
import Measuring
import Prefetcher

/// Downloads from one origin into files, beside `curl --parallel` doing the same in the same rounds.
struct FetchBench {
    /// Connections to the origin; over HTTP/2 it carries `streams` downloads at once.
    static let connections = 4
    static let streams = 8
    /// Downloads that are asked for at once, as a worker with its default slots does.
    static let slots = 32
    /// Bodies and their size for the measurement of memory.
    static let largeBodies = 64
    static let largeBytes = 30_000_000

    private enum Way: String, CaseIterable {
        case h1, h2
    }

    private let scratch: Scratch
    private let origin: BenchOrigin
    private let names: [String]
    private let rounds: Int
    private let disk = ThreadPool(name: "bench-files", threads: 2)

    /// Makes the files, 4 to 60 kB each, and starts the origin.
    init(downloads: Int, rounds: Int) throws {
        scratch = try Scratch()
        origin = try BenchOrigin(in: scratch.path, rate: 4_000_000)
        self.rounds = rounds
        names = (0..<downloads).map { "\($0).bin" }
        let bytes = Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) })
        for (number, name) in names.enumerated() {
            try bytes.prefix(4_000 + number * 7_919 % 56_000).write(to: URL(filePath: "\(origin.root)/\(name)"))
        }
    }

    /// All figures.
    func run() async throws -> [MeasuredFigure] {
        var steps: [Rounds.Step] = []
        for way in Way.allCases {
            steps.append { try await larder(way) }
            steps.append { try await curl(way) }
        }
        var values = try await Rounds(rounds, steps)
        values.add(["memory_64_bodies": try await memory()])
        var figures: [Figure] = []
        for way in Way.allCases {
            figures += [
                Figure("fetch_\(way)", "downloads/s", against: "curl_\(way)"), Figure("curl_\(way)", "downloads/s"),
                Figure("cpu_\(way)", "us/download", against: "curl_cpu_\(way)"),
                Figure("curl_cpu_\(way)", "us/download"),
                Figure("thread_\(way)", "us/download", against: "cpu_\(way)"),
            ]
        }
        return try values.measurements(figures + [Figure("memory_64_bodies", "MiB")])
    }

    // MARK: - Steps

    private func larder(_ way: Way) async throws -> [String: Double] {
        // The thread of the round before may still be about to end.
        let older = Self.tasks
        let downloader = ImageDownloader(try configuration(way))
        let directory = try fresh("larder-\(way)")
        let before = processorSeconds
        let rate = try await ContinuousClock().rate(of: names.count) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, name) in names.enumerated() {
                    if number >= Self.slots { try await group.next() }
                    group.addTask { try await download(url(way, name), by: downloader, to: "\(directory)/\(name)") }
                }
                try await group.waitForAll()
            }
        }
        let spent = (processorSeconds - before, Self.threadSeconds(without: older))
        scratch.clear(directory)
        let each = 1e6 / Double(names.count)
        return ["fetch_\(way)": rate, "cpu_\(way)": spent.0 * each, "thread_\(way)": spent.1 * each]
    }

    private func download(_ url: String, by downloader: ImageDownloader, to path: String) async throws {
        let file = await disk.run { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644) }
        guard file >= 0 else { throw MeasuringError("cannot write \(path)") }
        let result: Result<FetchResponse, FetchError>
        do throws(FetchError) {
            result = .success(try await downloader.fetch(FetchRequest(url), into: file))
        } catch {
            result = .failure(error)
        }
        await disk.run { _ = close(file) }
        _ = try result.get()
    }

    private func curl(_ way: Way) async throws -> [String: Double] {
        let directory = try fresh("curl-\(way)")
        let list = scratch.path + "/curl-\(way).txt"
        let lines = names.map { "url=\"\(url(way, $0))\"\noutput=\"\(directory)/\($0)\"\n" }.joined()
        try lines.write(toFile: list, atomically: false, encoding: .utf8)
        let version = way == .h2 ? "--http2" : "--http1.1"
        let most = way == .h2 ? Self.streams : Self.connections
        let options = "-q -sSf --no-progress-meter \(version) --cacert '\(origin.certificate)'"
        let command = "curl \(options) -Z --parallel-max \(most) -K '\(list)'"
        let before = Self.childrenSeconds
        let rate = try await ContinuousClock().rate(of: names.count) {
            _ = try await disk.run { () throws(any Error) in try Shell.output(command) }
        }
        let spent = Self.childrenSeconds - before
        scratch.clear(directory)
        return ["curl_\(way)": rate, "curl_cpu_\(way)": spent * 1e6 / Double(names.count)]
    }

    /// How much memory the process takes at its height above what it took before, with many large bodies at once.
    private func memory() async throws -> Double {
        try Data(count: Self.largeBytes).write(to: URL(filePath: "\(origin.root)/large"))
        var configuration = try configuration(.h1)
        configuration.transfersPerOrigin = Self.largeBodies
        let downloader = ImageDownloader(configuration)
        let sink = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(sink) }
        var request = FetchRequest("http://127.0.0.1:\(origin.ports.plain)/slow/large")
        request.mayShare = false
        let wanted = request
        // Sets the peak back to what is taken now.
        try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
        let before = try Self.kilobytes("VmRSS")
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.largeBodies {
                group.addTask { try await downloader.fetch(wanted, into: sink).bytes }
            }
            for try await bytes in group where bytes != Self.largeBytes {
                throw MeasuringError("a large body has \(bytes) bytes")
            }
        }
        return max(1, Double(try Self.kilobytes("VmHWM") - before)) / 1024
    }

    // MARK: - Parts

    private func configuration(_ way: Way) throws -> FetchConfiguration {
        let policy = AddressPolicy(
            allowedAddresses: [CIDR("127.0.0.1/32")].compactMap { $0 },
            allowedPorts: [origin.ports.plain, origin.ports.tls])
        var configuration = FetchConfiguration(policy: policy)
        configuration.transfersPerOrigin = Self.connections
        configuration.streamsPerOrigin = Self.streams
        configuration.authorities = origin.certificate
        return configuration
    }

    private func url(_ way: Way, _ name: String) -> String {
        way == .h2 ? "https://127.0.0.1:\(origin.ports.tls)/\(name)" : "http://127.0.0.1:\(origin.ports.plain)/\(name)"
    }

    private func fresh(_ name: String) throws -> String {
        let path = scratch.path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    /// User and system time of the children that have ended, in seconds.
    private static var childrenSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    /// The threads of this process.
    private static var tasks: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [])
    }

    /// User and system time of the network threads that live, in seconds.
    private static func threadSeconds(without older: Set<String>) -> Double {
        tasks.subtracting(older).reduce(0) { sum, task in
            guard let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8),
                name.hasPrefix("larder-fetch"),
                // Nanoseconds on a processor, then waiting, then time slices.
                let line = try? String(contentsOfFile: "/proc/self/task/\(task)/schedstat", encoding: .utf8),
                let spent = line.split(separator: " ").first.flatMap({ Double($0) })
            else { return sum }
            return sum + spent / 1e9
        }
    }

    private static func kilobytes(_ name: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard
            let value = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
        else { throw MeasuringError("the system does not tell \(name)") }
        return value
    }
}
