private import Glibc

/// What is made of one answer while it comes in: every byte is judged here before anything is done with it.
///
/// `head` first, then `body` as long as they answer true; false stops the transfer, and `failure` says why, unless
/// merely enough of an uninteresting body was read.
final class Reception {
    private enum Phase {
        case head
        case body
        /// The body of a redirect or of an error page: read a little, so that the connection can be used again.
        case discarding
    }

    private static let longestDiscarded: Int64 = 64 << 10
    private static let longestPrefix = 4096

    private let exchange: Exchange
    private var phase = Phase.head
    private var headerBytes = 0
    private var discarded: Int64 = 0
    private var digest: SHA256Digest?
    /// The first bytes while they do not suffice to tell what they are; nil once they did.
    private var prefix: [UInt8]? = []
    private(set) var bytes: Int64 = 0
    /// Why the transfer must end.
    private(set) var failure: FetchError?
    /// Why an address was refused; a failure only if no other address did.
    private(set) var refusedAddress: FetchError?

    init(_ exchange: Exchange) {
        self.exchange = exchange
        digest = SHA256Digest()
    }

    /// The status and all headers of an answer nobody wants the body of are known.
    var isDiscarding: Bool { phase == .discarding }

    /// Whether a connection to this address may be used.
    func admits(_ address: IPAddress?) -> Bool {
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

    /// A line of the headers; its length counts.
    func headerLine(_ count: Int) -> Bool {
        headerBytes += count
        if headerBytes <= exchange.limits.headers { return true }
        return fail(.badServerResponse, "the headers exceed the limit of \(exchange.limits.headers) bytes")
    }

    /// The headers are complete.
    func headEnded(status: Int, contentLength: Int64?) -> Bool {
        guard phase == .head else { return true }
        guard (200..<300).contains(status) else {
            phase = .discarding
            return (contentLength ?? 0) <= Self.longestDiscarded
        }
        phase = .body
        if let contentLength, contentLength > exchange.limits.body {
            return fail(
                .bodyTooLarge, "the body of \(contentLength) bytes exceeds the limit of \(exchange.limits.body) bytes")
        }
        return true
    }

    /// A piece of the body.
    func body(_ piece: UnsafeRawBufferPointer) -> Bool {
        switch phase {
        case .head, .discarding:
            discarded += Int64(piece.count)
            return discarded <= Self.longestDiscarded
        case .body:
            bytes += Int64(piece.count)
            if bytes > exchange.limits.body {
                return fail(.bodyTooLarge, "the body exceeds the limit of \(exchange.limits.body) bytes")
            }
            guard judge(piece), write(piece) else { return false }
            digest?.update(piece)
            return true
        }
    }

    /// The transfer has ended well: the digest of a body worth having.
    func finish() throws(FetchError) -> [UInt8] {
        if bytes == 0 { throw error(.badImageData, "the body is empty") }
        if prefix != nil { throw error(.badImageData, "the body is not an image (\(bytes) bytes)") }
        guard let digest = digest.take() else { throw error(.transportFailed, "no memory for a digest") }
        return digest.finish()
    }

    private func judge(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard var collected = prefix else { return true }
        let verdict: Bool?
        if collected.isEmpty {
            verdict = exchange.accepts(UnsafeRawBufferPointer(rebasing: piece.prefix(Self.longestPrefix)))
        } else {
            collected.append(contentsOf: piece.prefix(Self.longestPrefix - collected.count))
            verdict = collected.withUnsafeBytes { exchange.accepts($0) }
        }
        switch verdict {
        case true?: prefix = nil
        case false?: return fail(.badImageData, "the body is not an image of an accepted format")
        case nil:
            if collected.isEmpty { collected.append(contentsOf: piece.prefix(Self.longestPrefix)) }
            if collected.count >= Self.longestPrefix {
                return fail(.badImageData, "the body is not an image of an accepted format")
            }
            prefix = collected
        }
        return true
    }

    private func write(_ piece: UnsafeRawBufferPointer) -> Bool {
        var rest = piece
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(exchange.descriptor, start, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                let code = errno
                return fail(
                    .writeFailed,
                    "the body cannot be written to \(place): \(String(cString: strerror(code))) (errno \(code))")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
        return true
    }

    /// The file's path, as the kernel tells it.
    private var place: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(exchange.descriptor)", &buffer, buffer.count)
        guard count > 0 else { return "its file" }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func error(_ code: FetchError.Code, _ message: String) -> FetchError {
        FetchError(code, "\(exchange.url): \(message)")
    }

    private func fail(_ code: FetchError.Code, _ message: String) -> Bool {
        failure = error(code, message)
        return false
    }
}
