import CMicroHTTPD
import Concurrency
import DiskCache
import Dispatch
import Glibc

/// The place of the answer to one request. A reply that is dropped without an answer sends status 500.
final class HTTPReply: Sendable {
    /// The address of the library's request until it is answered; it waits for the answer.
    private let request: Locked<UInt>
    private let open: DispatchGroup

    init(_ request: OpaquePointer, open: DispatchGroup) {
        open.enter()
        self.open = open
        self.request = Locked(UInt(bitPattern: request))
    }

    deinit { send(HTTPAnswer(status: 500, body: Array("no answer\n".utf8))) }

    /// Sends the answer; only the first one counts. Does not block.
    func send(_ answer: HTTPAnswer) {
        let address = request.withLock { address in
            defer { address = 0 }
            return address
        }
        guard let request = OpaquePointer(bitPattern: address) else { return }
        // The library closes its descriptor when the last byte is sent.
        if let part = answer.file, case let copy = fcntl(part.file.descriptor, F_DUPFD_CLOEXEC, 0), copy >= 0 {
            larder_http_begin_file(request, answer.status, copy, part.range.lowerBound, part.range.count)
        } else {
            larder_http_begin_answer(request, answer.status, answer.body, answer.body.count)
        }
        let headers = [
            ("Content-Type", answer.type), ("Cache-Control", answer.caching), ("X-Content-Type-Options", "nosniff"),
        ]
        for (name, value) in headers + answer.headers { larder_http_add_header(request, name, value) }
        larder_http_end_answer(request)
        open.leave()
    }
}
