import Concurrency
import DiskCache
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Downloader
@testable import Prefetcher
@testable import Worker

/// Jobs whose URLs lead to forbidden addresses (guarantee 10). The worker reports each refusal once.
///
/// ForbiddenAddressTests has the case of a connection that an earlier policy allowed; the jobs of a worker have one
/// policy.
@Suite(.timeLimit(.minutes(5)))
struct RefusalTests {
    private struct Attempt {
        let way: String
        let url: String
        let row: String
    }

    /// Spellings of a forbidden address.
    private static let hosts = [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001",
        "127.0.0.1.",
        "2130706433.", "0.0.0.0", "0", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a00:1]",
        "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001:0:53aa:64c:0:fbff:80ff:fffe]", "[fe80::1]", "[fec0::1]",
        "[fd00::1]",
        "[ff02::1]", "[2a00:1450::5efe:10.0.0.1]", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "１２７.0.0.1", "10.0.0.1",
        "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
        "example.com@127.0.0.1", "example.com:80@127.0.0.1", "user:pass@127.0.0.1",
    ]

    /// Forbidden addresses in the answers of a name server.
    private static let answers = [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "100.64.0.1", "169.254.169.254", "172.31.0.1", "192.168.1.1", "224.0.0.1",
        "240.0.0.1", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "fe80::1",
        "fd00::1",
        "ff02::1",
    ]

    /// Further forbidden targets of redirects.
    private static let places = [
        ("file:///etc/passwd", "NSURLErrorDomain -1002"), ("ftp://127.0.0.1/", "NSURLErrorDomain -1002"),
        ("gopher://127.0.0.1:6379/_INFO", "NSURLErrorDomain -1002"),
        ("dict://127.0.0.1:11211/", "NSURLErrorDomain -1002"),
        ("ldap://127.0.0.1/", "NSURLErrorDomain -1002"), ("http://127.0.0.2:22/", "LarderErrorDomain 102"),
        ("http://127.0.0.2:5432/", "LarderErrorDomain 102"), ("https://127.0.0.2:25/", "LarderErrorDomain 102"),
    ]

    /// All attempts. `closed` listens at a forbidden address, `open` at an allowed one.
    private static func attempts(closed: UInt16, open: OriginServer) -> (
        attempts: [Attempt], names: [String: [[String]]]
    ) {
        let address = "LarderErrorDomain 101"
        var attempts: [Attempt] = []
        var names: [String: [[String]]] = ["localhost": [["127.0.0.1"]]]
        func redirect(to place: String) -> String {
            let path = "/r\(attempts.count)"
            open.on(path, .redirect(to: place))
            return open.url(path)
        }
        for host in hosts {
            let place = "http://\(host):\(closed)/"
            attempts.append(Attempt(way: "directly: \(host)", url: place, row: address))
            attempts.append(Attempt(way: "by a redirect: \(host)", url: redirect(to: place), row: address))
        }
        let relative = redirect(to: "//127.0.0.1:\(closed)/")
        attempts.append(Attempt(way: "by a redirect without a scheme", url: relative, row: address))
        for (place, row) in places {
            attempts.append(Attempt(way: "by a redirect: \(place)", url: redirect(to: place), row: row))
        }
        for answer in answers {
            let name = "named\(attempts.count).test"
            names[name] = [[answer]]
            attempts.append(Attempt(way: "by DNS: \(answer)", url: "http://\(name):\(closed)/", row: address))
        }
        for answer in answers {
            // The name has an allowed address in the first request and a forbidden one after the redirect.
            let name = "rebound\(attempts.count).test"
            names[name] = [["127.0.0.2"], [answer]]
            let path = "/again\(attempts.count)"
            open.on(path, .redirect(to: "http://\(name):\(open.port)/there"))
            attempts.append(
                Attempt(way: "by rebinding: \(answer)", url: "http://\(name):\(open.port)\(path)", row: address))
        }
        for port in [22, 25, 81, 5432, 6379] {
            attempts.append(
                Attempt(way: "on port \(port)", url: "http://127.0.0.2:\(port)/", row: "LarderErrorDomain 102"))
        }
        return (attempts, names)
    }

    @Test func `no forbidden address is reached, and each refusal is reported once with its code`() async throws {
        let closed = try OriginServer(["/": .body(noise(10))])
        let open = try OriginServer(address: "127.0.0.2")
        open.on("/there", .body(noise(10)))
        let (attempts, names) = Self.attempts(closed: closed.port, open: open)
        #expect(attempts.count >= 40)

        let database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
        let queue = PostgresJobQueue(.init(databaseURL: database.url))
        let directory = try TemporaryDirectory()
        let policy = loopback(closed.port, open.port, addresses: ["127.0.0.2"])
        let downloader = ImageDownloader(FetchConfiguration(policy: policy), resolver: StubResolver(names))
        let transcoders = TranscoderPool(configuration: TranscoderPool.Configuration())
        let manager = ImageManager(
            cache: try DirectoryStore(opening: directory.path), transcoders: transcoders,
            configuration: ImageManager.Configuration(sources: [downloader]))
        let batch = try await queue.producer.openBatch(name: "attempts")
        _ = try await queue.producer.enqueue(EnqueueRequest(urls: attempts.map(\.url), batch: "attempts"))
        try await queue.producer.seal(.id(batch))

        let reported = Locked<[String: [String]]>([:])
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: 16))
        // A drain would end after the first jobs, because its options refuse them.
        configuration.end = .batchFinished(batch)
        let worker = PrefetchWorker(queue: queue, loader: manager, configuration: configuration) { event in
            guard case .completed(let report) = event, let failure = report.failure else { return }
            reported.withLock { $0[report.job.url, default: []].append("\(failure.domain) \(failure.code)") }
        }
        let summary = try await worker.run(until: ShutdownRequest())
        await transcoders.shutdown()
        #expect(summary.failed == attempts.count)
        #expect(summary.succeeded == 0)
        #expect(summary.retried == 0)
        for attempt in attempts {
            let rows = reported.withLock { $0[attempt.url] ?? [] }
            #expect(rows == [attempt.row], "\(attempt.way)")
        }
        #expect(closed.acceptedConnections == 0)
        #expect(open.count("/there") == 0)
    }
}
