/// Downloads images into files: every hop of the way parsed, judged, looked up, judged again and pinned.
///
/// No address is connected to that the policy closes, whatever a URL, a redirect or a name server says
/// (guarantee 10): the addresses found are judged here and are the only ones libcurl learns, each socket is judged
/// before it is opened and each connection before it is used. Proxies of the environment are ignored.
package final class Downloader: Sendable {
    /// Addresses of one name that are tried.
    private static let mostAddresses = 8

    private let configuration: FetchConfiguration
    private let resolver: any NameResolving
    private let transfers: Transfers

    /// A downloader with a thread of its own.
    package init(_ configuration: FetchConfiguration = FetchConfiguration(), resolver: any NameResolving = Resolver()) {
        self.configuration = configuration
        self.resolver = resolver
        transfers = Transfers(configuration)
    }

    /// Downloads a URL into the request's descriptor.
    ///
    /// - Throws: `FetchError`; `cancelled` as soon as the task is cancelled.
    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchedBody {
        let limits = request.limits ?? configuration.limits
        let policy = request.policy ?? configuration.policy
        let start = ContinuousClock.now
        var url = request.url
        var timings = FetchTimings()
        for redirects in 0...max(0, limits.redirects) {
            guard policy.allows(port: url.origin.port) else {
                throw FetchError(
                    .portRefused, "\(url): port \(url.origin.port) is refused; --allow-port \(url.origin.port) opens it"
                )
            }
            let addresses = try await lookUp(url, policy, limits, &timings)
            let spent = timings.lookup + timings.exchanged
            guard spent < limits.total else {
                throw FetchError(.timedOut, "\(url): not done within the total limit of \(limits.total)")
            }
            let reply = try await transfers.exchange(
                Exchange(
                    url: url, addresses: addresses, descriptor: request.descriptor, limits: limits,
                    timeLeft: limits.total - spent, policy: policy, accepts: request.accepts))
            timings.add(reply)
            switch reply.outcome {
            case .redirect(let location):
                url = try follow(location, from: url)
            case .body(let bytes, let sha256):
                timings.total = .now - start
                return FetchedBody(
                    url: url, status: reply.status, bytes: bytes, sha256: sha256, contentType: reply.contentType,
                    etag: reply.etag, lastModified: reply.lastModified, robotsTag: reply.robotsTag,
                    redirects: redirects, timings: timings, connectionReused: reply.connectionReused,
                    httpMajor: reply.httpMajor)
            }
        }
        throw FetchError(.tooManyRedirects, "\(request.url): more redirects than the limit of \(limits.redirects)")
    }

    /// The addresses of a URL's host that may be connected to, at least one.
    private func lookUp(
        _ url: SourceURL, _ policy: AddressPolicy, _ limits: FetchLimits, _ timings: inout FetchTimings
    ) async throws(FetchError) -> [IPAddress] {
        let start = ContinuousClock.now
        let host = url.origin.host
        let found: [IPAddress]
        if let literal = url.literal {
            found = [literal]
        } else {
            do throws(LookupFailure) {
                found = try await resolver.addresses(of: host, within: limits.lookup)
            } catch {
                throw switch error {
                case .notFound: FetchError(.nameNotFound, "\(url): the name \(host) is not found")
                case .timedOut:
                    FetchError(.timedOut, "\(url): the name \(host) was not found within the limit of \(limits.lookup)")
                case .cancelled: FetchError(.cancelled, "\(url): cancelled")
                }
            }
        }
        timings.lookup += .now - start
        let open = found.filter { policy.allows($0) }.prefix(Self.mostAddresses)
        if open.isEmpty {
            let reasons = found.prefix(Self.mostAddresses).map { "\($0) (\(policy.refusal(of: $0) ?? ""))" }
            throw FetchError(
                .addressRefused,
                "\(url): refused address: \(reasons.joined(separator: ", ")); --allow-address CIDR opens a range")
        }
        return Array(open)
    }

    private func follow(_ location: [UInt8], from url: SourceURL) throws(FetchError) -> SourceURL {
        let next = try url.resolving(location)
        if url.origin.scheme == .https && next.origin.scheme == .http {
            throw FetchError(.downgradeRefused, "\(url): a redirect from https to http is refused: \(next)")
        }
        return next
    }
}

extension FetchTimings {
    fileprivate mutating func add(_ reply: Reply) {
        queued += reply.queued
        connect += reply.connect
        firstByte += reply.firstByte
        exchanged += reply.total
    }
}
