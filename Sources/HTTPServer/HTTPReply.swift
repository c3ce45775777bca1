import CMicroHTTPD
import Concurrency
import Glibc

/// The reply to one request. Dropping it without an answer sends status 500.
package final class HTTPReply: Sendable {
    /// The address of the library's suspended request until it is answered.
    private let request: Locked<UInt>
    private let requests: OpenRequests

    /// - Parameter requests: counts it until it is answered.
    package init(_ request: OpaquePointer, of requests: OpenRequests) {
        requests.enter()
        self.requests = requests
        self.request = Locked(UInt(bitPattern: request))
    }

    deinit { send(HTTPAnswer(status: 500, body: Array("no answer\n".utf8))) }

    /// Sends the answer; only the first call counts. Does not block.
    package func send(_ answer: HTTPAnswer) {
        guard let request = take() else { return }
        // The library closes its descriptor after the last byte.
        if let part = answer.file, case let copy = fcntl(part.descriptor, F_DUPFD_CLOEXEC, 0), copy >= 0 {
            larder_http_begin_file(request, answer.status, copy, part.range.lowerBound, part.range.count)
        } else {
            larder_http_begin_answer(request, answer.status, answer.body, answer.body.count)
        }
        Self.finish(request, answer)
        requests.leave()
    }

    /// Begins an answer whose body the stream sends; nil if out of memory.
    package func stream(_ answer: HTTPAnswer) -> HTTPStream? {
        guard let request = take() else { return nil }
        let stream = larder_http_begin_stream(request, answer.status)
        Self.finish(request, answer)
        if stream == nil { requests.leave() }
        return stream.map { HTTPStream($0, of: requests) }
    }

    /// Runs `work`. Cancels its task within a second after the client closes its side of the connection.
    package func whileWanted<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask { [self] in
                while (try? await Task.sleep(for: .seconds(1))) != nil, !hasGone {}
                return nil
            }
            var value: Value?
            for await result in group {
                value = result ?? value
                group.cancelAll()
            }
            return value
        }
    }

    private var hasGone: Bool {
        request.withLock { address in OpaquePointer(bitPattern: address).map { larder_http_has_gone($0) } ?? false }
    }

    private func take() -> OpaquePointer? {
        let address = request.withLock { address in
            defer { address = 0 }
            return address
        }
        return OpaquePointer(bitPattern: address)
    }

    private static func finish(_ request: OpaquePointer, _ answer: HTTPAnswer) {
        let headers = [
            ("Content-Type", answer.type), ("Cache-Control", answer.caching), ("X-Content-Type-Options", "nosniff"),
        ]
        for (name, value) in headers + answer.headers { larder_http_add_header(request, name, value) }
        larder_http_end_answer(request)
    }
}

/// A parsed `Range` header (RFC 9110, 14.2).
package enum ByteRange: Equatable {
    /// The whole file: no header, another unit, several ranges, or an error.
    case whole
    case part(Range<Int>)
    /// The range is outside the file: status 416.
    case outside

    package init(_ header: String?, size: Int) {
        self = .whole
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else { return }
        let bounds = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return
        }
        switch (Int(bounds[0]), Int(bounds[1])) {
        case (let first?, let last?) where first <= last:
            self = first < size ? .part(first..<min(size, last == .max ? size : last + 1)) : .outside
        case (let first?, nil) where bounds[1].isEmpty:
            self = first < size ? .part(first..<size) : .outside
        case (nil, let count?) where bounds[0].isEmpty:
            self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .outside
        default: return
        }
    }
}
