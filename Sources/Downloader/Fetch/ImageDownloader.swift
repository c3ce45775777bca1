/// Downloads images into files: every hop of the way parsed, judged, looked up, judged again and pinned.
///
/// No address is connected to that the policy closes, whatever a URL, a redirect or a name server says
/// (guarantee 10): the addresses found are judged here and are the only ones libcurl learns, each socket is judged
/// before it is opened and each connection before it is used. Proxies of the environment are ignored; behind a
/// configured one only addresses that stand in a URL are judged.
package final class ImageDownloader: Sendable {
    /// Addresses of one name that are tried.
    private static let mostAddresses = 8

    private let configuration: FetchConfiguration
    private let resolver: any NameResolving
    private let transfers: Transfers
    /// What is known of the origins: asked before each hop, and told how it went.
    package let origins: OriginLimiter

    /// A downloader with a thread of its own.
    package init(
        _ configuration: FetchConfiguration = FetchConfiguration(), resolver: any NameResolving = Resolver(),
        origins: OriginLimiter = OriginLimiter()
    ) {
        self.configuration = configuration
        self.origins = origins
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
        let profile = try profile(request)
        var hop = try RedirectState(request)
        var cookies: [String]? = request.handlesCookies ? [] : nil
        var timings = FetchTimings()
        while true {
            let url = hop.url
            guard policy.allows(port: url.origin.port) else {
                throw FetchError(
                    .portRefused, "\(url): port \(url.origin.port) is refused; --allow-port \(url.origin.port) opens it"
                )
            }
            try await request.admits(url)
            let reply = try await origins.passing(url) { () async throws(FetchError) in
                let addresses = try await route(to: url, policy, limits, &timings)
                let spent = timings.lookup + timings.exchanged
                guard spent < limits.total else {
                    throw FetchError(.timedOut, "\(url): not done within the total limit of \(limits.total)")
                }
                return HTTPRequest(
                    url: url, addresses: addresses, proxy: configuration.proxy, limits: limits,
                    timeLeft: limits.total - spent, policy: policy, method: hop.method, body: hop.body,
                    headers: hop.headers, cookies: cookies,
                    credentials: profile.flatMap { $0.covers(url.origin) ? $0 : nil },
                    allowsInvalidCertificates: request.allowsInvalidCertificates,
                    revalidates: request.revalidation?.headers.isEmpty == false, rules: request.rules,
                    priority: request.priority, mayShare: request.mayShare, isFirst: hop.redirects == 0)
            } hop: { exchange throws(FetchError) in
                try await transfers.exchange(exchange, for: BodySink(request), deadline: request.deadline)
            }
            timings.add(reply)
            timings.total = .now - start
            switch reply.outcome {
            case .redirect(let location):
                guard hop.redirects < limits.redirects else {
                    throw FetchError(
                        .tooManyRedirects, "\(request.url): more redirects than the limit of \(limits.redirects)")
                }
                try hop.follow(reply.status, to: location)
                if cookies != nil { cookies = reply.cookies }
            case .body(let bytes, let sha256):
                return FetchedBody(url: url, reply, bytes: bytes, sha256: sha256, hop.redirects, timings)
            case .notModified:
                return FetchedBody(url: url, reply, bytes: 0, sha256: [], hop.redirects, timings)
            }
        }
    }

    /// The limits of a download whose request brings none.
    package var limits: FetchLimits { configuration.limits }

    /// Transfers that wait or run; equal ones that share count once (SDWebImage 5.21.5, currentDownloadCount).
    package var currentDownloadCount: Int { get async { await transfers.count } }

    /// Downloads that wait for one of them; those that share are counted each.
    var waiterCount: Int { get async { await transfers.waiterCount } }

    /// Ends every transfer that waits or runs with `cancelled` (SDWebImage 5.21.5, cancelAllDownloads).
    package func cancelAllDownloads() async { await transfers.cancelAll() }

    /// While suspended no transfer starts; those that run go on (SDWebImage 5.21.5, suspended).
    package func suspend(_ suspends: Bool) async { await transfers.suspend(suspends) }

    private func profile(_ request: FetchRequest) throws(FetchError) -> CredentialProfile? {
        guard let name = request.credentials else { return nil }
        guard let profile = configuration.credentials[name] else {
            let shown = PercentEscape.printable(name.utf8, limit: 64)
            throw FetchError(
                .invalidOperation, "\(request.url): this worker has no credential profile '\(shown)'")
        }
        return profile
    }

    /// The addresses to connect to for a URL: its host's, or the proxy's.
    private func route(
        to url: SourceURL, _ policy: AddressPolicy, _ limits: FetchLimits, _ timings: inout FetchTimings
    ) async throws(FetchError) -> [IPAddress] {
        guard let proxy = configuration.proxy?.url else { return try await lookUp(url, policy, limits, &timings) }
        if let literal = url.literal, let refusal = policy.refusal(of: literal) {
            throw FetchError(.addressRefused, "\(url): refused address: \(literal) (\(refusal))")
        }
        return try await lookUp(proxy, nil, limits, &timings)
    }

    /// The addresses of a URL's host that may be connected to, at least one.
    private func lookUp(
        _ url: SourceURL, _ policy: AddressPolicy?, _ limits: FetchLimits, _ timings: inout FetchTimings
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
            timings.lookup += .now - start
        }
        let open = found.filter { policy?.allows($0) ?? true }.prefix(Self.mostAddresses)
        if open.isEmpty {
            let reasons = found.prefix(Self.mostAddresses).map { "\($0) (\(policy?.refusal(of: $0) ?? ""))" }
            throw FetchError(
                .addressRefused,
                "\(url): refused address: \(reasons.joined(separator: ", ")); --allow-address CIDR opens a range")
        }
        return Array(open)
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

extension FetchedBody {
    fileprivate init(
        url: SourceURL, _ reply: Reply, bytes: Int64, sha256: [UInt8], _ redirects: Int, _ timings: FetchTimings
    ) {
        self.init(
            url: url, status: reply.status, bytes: bytes, sha256: sha256, headers: reply.headers, redirects: redirects,
            resumptions: reply.resumptions, shared: reply.shared, timings: timings,
            connectionReused: reply.connectionReused, httpMajor: reply.httpMajor)
    }
}
