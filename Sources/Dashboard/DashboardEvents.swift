import FoundationEssentials
import HTTPServer
import Terminal

/// A page's server-sent events: the answer to each of its queries, repeated whenever it changes.
struct DashboardEvents: Sendable {
    /// Time between two polls. `DashboardAnswers` caches answers for a second, so the number of database queries does
    /// not grow with the viewers.
    private static let interval = Duration.milliseconds(250)
    /// Polls without an event after which a comment is sent; proxies close silent connections.
    private static let looksOfSilence = 20
    private static let limit = 12
    /// Streams of all viewers, fewer than connections.
    static let streams = HTTPEndpoint.connections / 2

    static let path = "/api/v1/events"

    /// As after `/api/v1/`: `batches`, `throughput?minutes=60`.
    private let paths: [String]

    /// - Parameter paths: separated by spaces.
    /// - Throws: wrong usage for none or too many.
    init(_ paths: String?) throws(CommandError) {
        self.paths = (paths ?? "").split(separator: " ").map(String.init)
        guard (1...Self.limit).contains(self.paths.count) else {
            throw .usage("paths: 1 to \(Self.limit) of GET, separated by spaces, such as 'batches queues'")
        }
    }

    /// Sends events until the client has gone or the server stops.
    ///
    /// - Parameter answer: answers a GET request of the API.
    func run(to stream: HTTPStream, answer: @Sendable (HTTPRequest) async -> HTTPAnswer) async {
        var sent: [String: Int] = [:]
        var silence = 0
        while !Task.isCancelled {
            for path in paths {
                let answer = await answer(Self.request(path))
                let content = answer.content ?? answer.body.hashValue
                guard sent[path] != content else { continue }
                sent[path] = content
                silence = 0
                guard stream.send(Self.event(path, answer)) else { return }
            }
            if silence == Self.looksOfSilence {
                silence = 0
                guard stream.send(Array(":\n\n".utf8)) else { return }
            }
            silence += 1
            // Sends nothing: tests whether the client is still there.
            guard stream.send([]), (try? await Task.sleep(for: Self.interval)) != nil else { return }
        }
    }

    static func request(_ path: String) -> HTTPRequest {
        let parts = path.split(separator: "?", maxSplits: 1)
        var request = HTTPRequest(path: "/api/v1/\(parts.first ?? "")")
        // A form has + for a space.
        let path = path.replacing("+", with: "%20")
        for field in URLComponents(string: path)?.queryItems ?? [] {
            if let value = field.value, !value.isEmpty { request.arguments[field.name] = value }
        }
        return request
    }

    /// The path, the status, and the answer unchanged: an object in one line.
    private static func event(_ path: String, _ answer: HTTPAnswer) -> [UInt8] {
        let name = (try? JSONLine.text(["path": path, "status": Int(answer.status)] as JSONObject)) ?? "{}"
        return Array("event: answer\ndata: \(name.dropLast()),\"answer\":".utf8) + answer.body.filter { $0 != 0x0a }
            + Array("}\n\n".utf8)
    }
}
