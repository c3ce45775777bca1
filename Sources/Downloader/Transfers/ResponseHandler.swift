internal import ImageModel

/// The state of one response. Checks every header and body piece before use.
///
/// Transitions of `verdict`, made when a response head is complete:
/// - nil → body: accepted by the request's rules, or the rest of a broken body
/// - nil → redirect, notModified: status 301, 302, 303, 307, 308 with `Location`; 304 to a conditional request
/// - nil → refused: any other response; up to 64 KiB of its body are read to keep the connection
/// - nil → unusable: a range that does not continue the received bytes
/// - any but body → nil: another response to the same request (`responseBegins`), as after a password challenge
/// - any → nil: a new try (`begin`)
///
/// Confined to the network thread.
final class ResponseHandler {
    enum Verdict {
        case body(ResponseHead)
        case redirect([UInt8], status: Int)
        case notModified(ResponseHead)
        case refused(FetchError)
        case unusable
    }

    private static let maximumDiscardedBytes: Int64 = 64 << 10

    private let request: HTTPRequest
    private var headerBytes = 0
    private var discarded: Int64 = 0
    private var digest = SHA256Digest()
    private var sinks: [BodySink] = []
    /// How to continue a broken body; nil for a first try.
    private var resumption: Resumption?
    private(set) var verdict: Verdict?
    private(set) var bytes: Int64 = 0
    /// The announced length of the whole body.
    private(set) var expected: Int64?
    /// Whether other transfers share the connection, over HTTP/2.
    var sharesConnection = false
    /// Removes the body's encodings; nil without a known encoding.
    private var decoder: ContentDecoder?
    /// When bytes last arrived, or the try began.
    private(set) var lastActivity: ContinuousClock.Instant
    /// Whether libcurl still queues the try for a connection.
    private(set) var isQueued = true
    /// When libcurl first took the transfer from its queue.
    private(set) var startedAt: ContinuousClock.Instant?
    /// When the transfer was paused because a file had no room; nil if not paused.
    private(set) var pausedAt: ContinuousClock.Instant?
    private(set) var pausedTime = Duration.zero
    private(set) var failure: FetchError?
    /// Why an address was refused; a failure only if no other address was accepted.
    private(set) var refusedAddress: FetchError?

    init(_ request: HTTPRequest, at now: ContinuousClock.Instant) {
        self.request = request
        lastActivity = now
    }

    // MARK: - Sinks

    /// Adds a sink; false if it cannot receive the bytes that have already arrived.
    func add(_ sink: BodySink) -> Bool {
        if bytes > 0, sinks.first(where: { $0.failure == nil })?.copy(to: sink) != true { return false }
        sinks.append(sink)
        return true
    }

    /// Removes a sink; it receives nothing more.
    func remove(_ sink: BodySink) { sinks.removeAll { $0 === sink } }

    var isReceived: Bool { sinks.contains { $0.failure == nil } }

    /// Pauses the transfer while a file has no room; true if this changed.
    func adjustPause(at now: ContinuousClock.Instant) -> Bool {
        let isFull = sinks.contains { $0.isFull(sharesConnection: sharesConnection) }
        guard isFull != (pausedAt != nil) else { return false }
        if isFull { pausedAt = now } else { continues(at: now) }
        return true
    }

    /// A pause of another transfer on the connection, which stopped this one, has ended.
    func continuesWithConnection(at now: ContinuousClock.Instant) {
        if sharesConnection { lastActivity = now }
    }

    private func continues(at now: ContinuousClock.Instant) {
        guard let start = pausedAt else { return }
        pausedTime += now - start
        lastActivity = now
        pausedAt = nil
    }

    // MARK: - The request

    /// The request is about to be sent, for the first time or again.
    func begin(at now: ContinuousClock.Instant) {
        continues(at: now)
        lastActivity = now
        isQueued = true
        verdict = nil
        headerBytes = 0
        discarded = 0
        if request.redirects == 0 && resumption == nil { for sink in sinks { sink.begin() } }
    }

    /// A socket is being opened for the try, or the request is sent over an open connection.
    func leavesQueue(at now: ContinuousClock.Instant) {
        lastActivity = now
        isQueued = false
        startedAt = startedAt ?? now
    }

    /// Whether a connection to this address may be used.
    func admits(_ address: IPAddress?) -> Bool {
        // Behind a proxy only the proxy is connected to, and it is trusted.
        if request.proxy != nil { return true }
        guard let address else {
            refusedAddress = error(.addressRefused, "an address of an unknown family is refused")
            return false
        }
        guard let refusal = request.policy.refusal(of: address) else { return true }
        refusedAddress = error(
            .addressRefused, "the address \(address) is refused: \(refusal)",
            needs: [.address(AddressPolicy.range(opening: address))])
        return false
    }

    /// A piece of the request body is sent.
    func sends(at now: ContinuousClock.Instant) { lastActivity = now }

    // MARK: - The response

    /// A status line. libcurl answers password challenges itself, so one request may have several.
    func responseBegins() {
        guard case .body? = verdict else { return verdict = nil }
    }

    /// A header line of `count` bytes; false ends the transfer.
    func header(_ count: Int, at now: ContinuousClock.Instant) -> Bool {
        lastActivity = now
        headerBytes += count
        if headerBytes <= request.limits.headers { return true }
        failure = error(.badServerResponse, "the headers exceed the limit of \(request.limits.headers) bytes")
        return false
    }

    /// The error if libcurl ran out of memory, or from 8.6 reports something too large, after the request was sent: it
    /// accepts at most 100 KB per header line. Nil if the head is complete.
    var oversizedHeader: FetchError? {
        guard verdict == nil else { return nil }
        return error(.badServerResponse, "a header exceeds the limit of \(request.limits.headers) bytes")
    }

    /// The head is complete; false ends the transfer.
    ///
    /// - Parameters:
    ///   - location: the `Location` header as sent.
    ///   - retryAfter: the `Retry-After` header.
    func headEnds(_ head: ResponseHead, location: [UInt8]?, retryAfter: Duration?) -> Bool {
        guard verdict == nil else { return true }
        if resumption?.judge(head) == .unusable {
            verdict = .unusable
            return false
        }
        let contentLength = head.headers["Content-Length"].flatMap { Int64($0) }
        if !request.fetch.isServiceCall, let location, [301, 302, 303, 307, 308].contains(head.status) {
            return discard(.redirect(location, status: head.status), contentLength)
        }
        if head.status == 304 && request.isConditional { return discard(.notModified(head), nil) }
        switch resumption?.judge(head) {
        case .rest?:
            verdict = .body(head)
            // If the first response had no length, take it from the range.
            if expected == nil { expected = head.headers["Content-Range"].flatMap(ContentRange.init)?.total }
            return true
        case .whole?: restartBody()
        case .unusable?, .other?, nil: break
        }
        do throws(FetchError) {
            verdict = .body(try request.fetch.rules.check(head, of: request.url))
        } catch {
            let refusal = FetchError(error.code, error.message, httpStatus: error.httpStatus, retryAfter: retryAfter)
            // A password challenge must be read to its end before libcurl can answer it.
            let mayRespond = head.status == 401 && request.credentials?.user != nil
            return discard(.refused(refusal), mayRespond ? nil : contentLength)
        }
        if let range = request.unrequestedRange(head) {
            failure = error(.badServerResponse, "status 206 with \(range) in response to a request without a range")
            return false
        }
        let encodings = head.headers.filter { $0.isNamed("Content-Encoding") }.map(\.value)
        decoder = ContentDecoder(encodings)
        // The length of a decoded body is unknown.
        expected = decoder == nil ? contentLength : nil
        let unknown = decoder == nil && ContentDecoder.isEncoded(encodings) ? encodings.joined(separator: ", ") : nil
        let limit = request.limits.body
        if let contentLength, contentLength > limit {
            failure = error(
                .bodyTooLarge, "the body of \(contentLength) bytes exceeds the limit of \(limit) bytes",
                needs: [.body(contentLength)])
            return false
        }
        for sink in sinks { sink.head(expected: expected, unknownEncoding: unknown, at: lastActivity) }
        return true
    }

    /// False ends the transfer.
    func body(_ piece: UnsafeRawBufferPointer, at now: ContinuousClock.Instant) -> Bool {
        lastActivity = now
        guard case .body? = verdict else {
            discarded += Int64(piece.count)
            return discarded <= Self.maximumDiscardedBytes
        }
        guard let decoder else { return received(piece, at: now) }
        switch decoder.decode(piece, { received($0, at: now) }) {
        case .done: return true
        case .stopped: return false
        case .damaged:
            failure = error(.badContentEncoding, "the body is not in its Content-Encoding")
            return false
        }
    }

    /// False ends the transfer.
    private func received(_ piece: UnsafeRawBufferPointer, at now: ContinuousClock.Instant) -> Bool {
        if bytes + Int64(piece.count) > request.limits.body {
            let limit = request.limits.body
            // The body's length is unknown.
            failure = error(
                .bodyTooLarge, "the body exceeds the limit of \(limit) bytes",
                needs: [.body(max(expected ?? 0, limit &* 2))])
            return false
        }
        bytes += Int64(piece.count)
        digest.update(piece)
        for sink in sinks { sink.write(piece, expected: expected, at: now) }
        return isReceived
    }

    // MARK: - The end

    /// The response, if the transfer ended without a transport failure.
    func finish() throws(FetchError) -> FetchResponse {
        switch verdict {
        case .body(let head)?:
            if let decoder, decoder.hasBegun, !decoder.isComplete {
                throw error(.connectionLost, "the encoded body is cut short: \(bytes) bytes of it arrived")
            }
            if bytes == 0 && !request.fetch.acceptsEmptyBody { throw error(.badImageData, "the body is empty") }
            if resumption != nil, let expected, bytes != expected {
                throw error(.connectionLost, "the continued body has \(bytes) bytes instead of \(expected)")
            }
            for sink in sinks { sink.end(expected: expected) }
            return FetchResponse(
                bytes: Int(bytes), sha256: digest.finish(), status: head.status, headers: head.headers)
        case .redirect(let location, let status)?:
            var response = FetchResponse(bytes: 0, sha256: [], status: status)
            response.location = location
            return response
        case .notModified(let head)?:
            var response = FetchResponse.notModified
            response.headers = head.headers
            return response
        case .refused(let error)?: throw error
        case .unusable?, nil: throw error(.badServerResponse, "a response without a head")
        }
    }

    /// Whether all relevant parts of the response were read before libcurl was stopped.
    var isDecided: Bool {
        switch verdict {
        case .redirect?, .notModified?, .refused?: true
        case .body?, .unusable?, nil: false
        }
    }

    /// Prepares to continue a broken body; false if impossible.
    func resume() -> Bool {
        guard request.mayResume, failure == nil else { return false }
        switch verdict {
        case .unusable?:
            restartBody()
            return true
        case .body(let head)?:
            // The response to a range request has the validators too.
            guard let next = Resumption(head: head.headers, offset: bytes, total: expected) else { return false }
            resumption = next
            return true
        default: return false
        }
    }

    /// Prepares to request the body again from its start; false if no body is wanted.
    func restart() -> Bool {
        guard request.mayResume, failure == nil, !isDecided else { return false }
        if verdict != nil { restartBody() }
        return true
    }

    /// Additional headers of the next try.
    var resumptionHeaders: [HeaderField] { resumption?.headers ?? [] }

    func fail(_ error: FetchError) { failure = error }

    private func restartBody() {
        resumption = nil
        bytes = 0
        expected = nil
        digest = SHA256Digest()
        decoder = nil
        for sink in sinks { sink.restart() }
    }

    private func discard(_ verdict: Verdict, _ contentLength: Int64?) -> Bool {
        self.verdict = verdict
        return (contentLength ?? 0) <= Self.maximumDiscardedBytes
    }

    private func error(
        _ code: FetchError.Code, _ message: String, needs: [RequiredSetting] = []
    ) -> FetchError {
        FetchError(code, "\(request.url): \(message)").needing(needs)
    }
}
