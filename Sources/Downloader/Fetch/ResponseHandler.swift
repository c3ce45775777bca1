/// What is made of one answer while it comes in: every byte is judged here before anything is done with it.
///
/// `answerBegins`, `headEnded`, then `body` as long as they answer true; false stops the transfer, and `failure` says why,
/// unless merely enough of an uninteresting body was read.
final class ResponseHandler {
    /// What an answer is, once its head is complete.
    enum Verdict {
        case body(ResponseHead)
        case redirect([UInt8], status: Int)
        case notModified(ResponseHead)
        /// Its body is read a little, so that the connection can be used again.
        case refused(FetchError)
        /// Part of a body that does not fit what is here: to be asked for anew.
        case unusable
    }

    private static let longestDiscarded: Int64 = 64 << 10

    private let exchange: HTTPRequest
    private var headerBytes = 0
    private var discarded: Int64 = 0
    private var digest: SHA256Digest?
    private var recipients: [(ticket: UInt64, recipient: BodySink)] = []
    /// How the body that is here goes on; set when it broke off.
    private var resumption: Resumption?
    /// Nil until the head is complete.
    private(set) var verdict: Verdict?
    private(set) var bytes: Int64 = 0
    /// Bytes of the whole body as announced.
    private(set) var expected: Int64?
    /// When something came, or was last begun.
    private(set) var lastActivity: ContinuousClock.Instant
    /// Why the transfer must end.
    private(set) var failure: FetchError?
    /// Why an address was refused; a failure only if no other address did.
    private(set) var refusedAddress: FetchError?

    init(_ exchange: HTTPRequest, at now: ContinuousClock.Instant) {
        self.exchange = exchange
        lastActivity = now
        digest = SHA256Digest()
    }

    // MARK: - Recipients

    /// One more who wants the body; false when it cannot have what came already.
    func join(_ ticket: UInt64, _ recipient: BodySink) -> Bool {
        var recipient = recipient
        if bytes > 0 {
            guard let source = recipients.first(where: { $0.recipient.failure == nil })?.recipient,
                source.bring(&recipient)
            else { return false }
        }
        recipients.append((ticket, recipient))
        return true
    }

    /// One less; its file is not touched any more.
    func leave(_ ticket: UInt64) { recipients.removeAll { $0.ticket == ticket } }

    /// What failed this recipient alone.
    func failure(of ticket: UInt64) -> FetchError? {
        recipients.first { $0.ticket == ticket }?.recipient.failure
    }

    // MARK: - The request

    /// The request is about to be sent, or to be sent again.
    func begins(at now: ContinuousClock.Instant) {
        lastActivity = now
        verdict = nil
        headerBytes = 0
        discarded = 0
        if exchange.isFirst && resumption == nil { for (_, recipient) in recipients { recipient.begins() } }
    }

    /// Whether a connection to this address may be used.
    func admits(_ address: IPAddress?) -> Bool {
        // Only the proxy is connected to, and it is trusted.
        if exchange.proxy != nil { return true }
        let reason: String
        if let address {
            guard let refusal = exchange.policy.refusal(of: address) else { return true }
            reason = "the address \(address) is refused: \(refusal); --allow-address CIDR opens a range"
        } else {
            reason = "an address of an unknown kind is refused"
        }
        refusedAddress = FetchError(.addressRefused, "\(exchange.url): \(reason)")
        return false
    }

    // MARK: - The answer

    /// A status line: libcurl answers a demand for a password by itself, so that there may be several.
    func answerBegins() {
        guard case .body? = verdict else { return verdict = nil }
    }

    /// A line of the headers; its length counts.
    func headerLine(_ count: Int, at now: ContinuousClock.Instant) -> Bool {
        lastActivity = now
        headerBytes += count
        if headerBytes <= exchange.limits.headers { return true }
        return fail(.badServerResponse, "the headers exceed the limit of \(exchange.limits.headers) bytes")
    }

    /// The headers are complete. `location` is the header as sent; `retryAfter` what the origin asks for.
    func headEnded(
        status: Int, headers: [HeaderField], contentLength: Int64?, location: [UInt8]?, retryAfter: Duration?
    ) -> Bool {
        guard verdict == nil else { return true }
        let head = ResponseHead(url: exchange.url, status: status, headers: headers)
        if let location, [301, 302, 303, 307, 308].contains(status) {
            return discard(.redirect(location, status: status), contentLength)
        }
        if status == 304 && exchange.revalidates { return discard(.notModified(head), nil) }
        switch resumption?.judge(status, headers) {
        case .unusable?:
            verdict = .unusable
            return false
        case .rest?:
            verdict = .body(head)
            // A part without a length of its own tells the whole's.
            if expected == nil { expected = headers["Content-Range"].flatMap(ContentRange.init)?.total }
            return true
        case .anew?: startsAnew()
        case .other?, nil: break
        }
        do throws(FetchError) {
            verdict = .body(try exchange.rules.judge(head))
        } catch {
            let refusal = FetchError(
                error.code, error.message, httpStatus: error.httpStatus, retryAfter: retryAfter)
            // A demand for a password is read however long it is, if there is one to answer with.
            let mayAnswer = status == 401 && exchange.credentials?.user != nil
            return discard(.refused(refusal), mayAnswer ? nil : contentLength)
        }
        expected = contentLength
        if let contentLength, contentLength > exchange.limits.body {
            return fail(
                .bodyTooLarge, "the body of \(contentLength) bytes exceeds the limit of \(exchange.limits.body) bytes")
        }
        for index in recipients.indices { recipients[index].recipient.answered(expected: expected, at: lastActivity) }
        return true
    }

    /// A piece of the body.
    func body(_ piece: UnsafeRawBufferPointer, at now: ContinuousClock.Instant) -> Bool {
        lastActivity = now
        guard case .body? = verdict else {
            discarded += Int64(piece.count)
            return discarded <= Self.longestDiscarded
        }
        if bytes + Int64(piece.count) > exchange.limits.body {
            return fail(.bodyTooLarge, "the body exceeds the limit of \(exchange.limits.body) bytes")
        }
        bytes += Int64(piece.count)
        digest?.update(piece)
        var isWanted = false
        for index in recipients.indices {
            recipients[index].recipient.take(piece, expected: expected, at: now)
            if recipients[index].recipient.failure == nil { isWanted = true }
        }
        return isWanted
    }

    // MARK: - The end

    /// The transfer has ended well: the digest of a body worth having.
    func finish() throws(FetchError) -> [UInt8] {
        if bytes == 0 { throw error(.badImageData, "the body is empty") }
        if resumption != nil, let expected, bytes != expected {
            throw error(.connectionLost, "the body went on to \(bytes) bytes instead of \(expected)")
        }
        for index in recipients.indices { recipients[index].recipient.ends(expected: expected) }
        guard let digest = digest.take() else { throw error(.transportFailed, "no memory for a digest") }
        return digest.finish()
    }

    /// Whether all of the answer that matters was read when libcurl was told to stop.
    var isDecided: Bool {
        switch verdict {
        case .redirect?, .notModified?, .refused?: true
        case .body?, .unusable?, nil: false
        }
    }

    /// Makes ready to go on with a body that broke off; false when it cannot.
    func resume() -> Bool {
        guard exchange.mayResume, failure == nil else { return false }
        switch verdict {
        case .unusable?:
            resumption = nil
            startsAnew()
            return true
        case .body(let head)?:
            // The part of a body that a first resumption brought has the validators, too.
            guard let next = Resumption(head: head.headers, offset: bytes, total: expected) else { return false }
            resumption = next
            return true
        default: return false
        }
    }

    /// Makes ready to begin the body again, whatever of it is here; false for an answer that is none.
    func restart() -> Bool {
        guard exchange.mayResume, failure == nil else { return false }
        switch verdict {
        case nil: return true
        case .body?, .unusable?:
            startsAnew()
            return true
        case .redirect?, .notModified?, .refused?: return false
        }
    }

    /// What goes out beside the exchange's own headers.
    var resumptionHeaders: [HeaderField] { resumption?.headers ?? [] }

    /// Ends the transfer for a reason of the caller's.
    func give(up error: FetchError) { failure = error }

    private func startsAnew() {
        resumption = nil
        bytes = 0
        expected = nil
        digest = SHA256Digest()
        for index in recipients.indices { recipients[index].recipient.startsAnew() }
    }

    private func discard(_ verdict: Verdict, _ contentLength: Int64?) -> Bool {
        self.verdict = verdict
        return (contentLength ?? 0) <= Self.longestDiscarded
    }

    private func error(_ code: FetchError.Code, _ message: String) -> FetchError {
        FetchError(code, "\(exchange.url): \(message)")
    }

    private func fail(_ code: FetchError.Code, _ message: String) -> Bool {
        failure = error(code, message)
        return false
    }
}
