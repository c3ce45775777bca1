import Concurrency
import Downloader
import Foundation
import Glibc
import Measuring

extension Benchmark {
    static let fetch = Benchmark(
        name: "fetch", question: "What does a download from one origin cost, compared with curl --parallel?"
    ) { options in
        let count = options.files ?? 2_000
        let run = try FetchRun(downloads: count)
        return Findings(
            measurements: try await run.measure(rounds: options.rounds),
            input: "\(count) downloads of 4 to 60 kB a round, \(FetchRun.slots) requested at once")
    }
}

/// Downloads of 4 to 60 kB from a local nginx into files, over HTTP/1.1 and over HTTP/2 with TLS.
private struct FetchRun {
    /// Connections to the origin; over HTTP/2 each carries `streams` downloads at once.
    static let connections = 4
    static let streams = 8
    /// The default slots of a worker.
    static let slots = 32
    /// The bodies of the memory measurement.
    static let largeBodies = 64
    static let largeBytes = 30_000_000

    private enum Version: String, CaseIterable {
        case h1, h2
    }

    private let scratch: Scratch
    private let origin: NginxOrigin
    private let names: [String]
    private let disk = ThreadPool(name: "bench-files", threads: 2)

    init(downloads: Int) throws {
        scratch = try Scratch()
        origin = try NginxOrigin(in: scratch.path, rate: 4_000_000)
        names = (0..<downloads).map { "\($0).bin" }
        let bytes = Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) })
        for (number, name) in names.enumerated() {
            try bytes.prefix(4_000 + number * 7_919 % 56_000).write(to: URL(filePath: "\(origin.root)/\(name)"))
        }
    }

    func measure(rounds: Int) async throws -> [MeasuredFigure] {
        var steps: [Rounds.Step] = []
        var figures: [Figure] = []
        for version in Version.allCases {
            steps.append { try await larder(version) }
            steps.append { try await curl(version) }
            figures += [
                Figure("fetch_\(version)", "downloads/s", against: "curl_\(version)"),
                Figure("curl_\(version)", "downloads/s"),
                Figure("cpu_\(version)", "us/download", against: "curl_cpu_\(version)"),
                Figure("curl_cpu_\(version)", "us/download"),
                Figure("thread_\(version)", "us/download", against: "cpu_\(version)"),
            ]
        }
        var values = try await Rounds(rounds, steps)
        values.add(["memory_64_bodies": try await memory()])
        return try values.measurements(figures + [Figure("memory_64_bodies", "MiB")])
    }

    /// Downloads per second, processor time of the process per download, and of its network thread.
    private func larder(_ version: Version) async throws -> [String: Double] {
        // The network thread of the previous round may still be running.
        let older = Self.threads
        let downloader = ImageDownloader(try configuration())
        let directory = try makeDirectory("larder-\(version)")
        let before = processorSeconds
        let rate = try await ContinuousClock().rate(of: names.count) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, name) in names.enumerated() {
                    if number >= Self.slots { try await group.next() }
                    group.addTask { try await download(url(version, name), by: downloader, to: "\(directory)/\(name)") }
                }
                try await group.waitForAll()
            }
        }
        let used = (processorSeconds - before, Self.networkSeconds(without: older))
        scratch.clear(directory)
        let each = 1e6 / Double(names.count)
        return ["fetch_\(version)": rate, "cpu_\(version)": used.0 * each, "thread_\(version)": used.1 * each]
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

    private func curl(_ version: Version) async throws -> [String: Double] {
        let directory = try makeDirectory("curl-\(version)")
        let list = scratch.path + "/curl-\(version).txt"
        let lines = names.map { "url=\"\(url(version, $0))\"\noutput=\"\(directory)/\($0)\"\n" }.joined()
        try lines.write(toFile: list, atomically: false, encoding: .utf8)
        let options = "-q -sSf --no-progress-meter --cacert '\(origin.certificate)' -Z -K '\(list)'"
        let own =
            version == .h2 ? "--http2 --parallel-max \(Self.streams)" : "--http1.1 --parallel-max \(Self.connections)"
        let before = childrenSeconds
        let rate = try await ContinuousClock().rate(of: names.count) {
            _ = try await disk.run { () throws(any Error) in try Shell.output("curl \(options) \(own)") }
        }
        let used = childrenSeconds - before
        scratch.clear(directory)
        return ["curl_\(version)": rate, "curl_cpu_\(version)": used * 1e6 / Double(names.count)]
    }

    /// The peak of the process's memory above its idle value, in MiB, with many large bodies at once.
    private func memory() async throws -> Double {
        try Data(count: Self.largeBytes).write(to: URL(filePath: "\(origin.root)/large"))
        var configuration = try configuration()
        configuration.transfersPerOrigin = Self.largeBodies
        let downloader = ImageDownloader(configuration)
        let sink = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(sink) }
        var request = FetchRequest("http://127.0.0.1:\(origin.ports.plain)/slow/large")
        request.mayShare = false
        let wanted = request
        resetPeakMemory()
        let before = memorySize("VmRSS")
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.largeBodies {
                group.addTask { try await downloader.fetch(wanted, into: sink).bytes }
            }
            for try await bytes in group where bytes != Self.largeBytes {
                throw MeasuringError("a large body has \(bytes) bytes")
            }
        }
        return max(1.0 / 1024, memorySize("VmHWM") - before)
    }

    private func configuration() throws -> FetchConfiguration {
        let policy = AddressPolicy(
            allowedAddresses: [CIDR("127.0.0.1/32")].compactMap { $0 },
            allowedPorts: [origin.ports.plain, origin.ports.tls])
        var configuration = FetchConfiguration(policy: policy)
        configuration.transfersPerOrigin = Self.connections
        configuration.streamsPerOrigin = Self.streams
        configuration.authorities = origin.certificate
        return configuration
    }

    private func url(_ version: Version, _ name: String) -> String {
        version == .h2
            ? "https://127.0.0.1:\(origin.ports.tls)/\(name)" : "http://127.0.0.1:\(origin.ports.plain)/\(name)"
    }

    private func makeDirectory(_ name: String) throws -> String {
        let path = scratch.path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    private static var threads: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [])
    }

    /// Processor time of the running network threads.
    private static func networkSeconds(without older: Set<String>) -> Double {
        threads.subtracting(older).reduce(0) { sum, thread in
            guard let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8),
                name.hasPrefix("larder-fetch"),
                // Nanoseconds on a processor, then waiting, then time slices.
                let line = try? String(contentsOfFile: "/proc/self/task/\(thread)/schedstat", encoding: .utf8),
                let used = line.split(separator: " ").first.flatMap({ Double($0) })
            else { return sum }
            return sum + used / 1e9
        }
    }
}
