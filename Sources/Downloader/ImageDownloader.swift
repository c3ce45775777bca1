internal import Concurrency
internal import ImageModel

/// Downloads URLs into open files with libcurl (SDWebImage 5.21.5, SDWebImageDownloader).
///
/// Connects only to addresses that the policy allows (guarantee 10): every looked-up address is checked, libcurl
/// receives no other, and each socket and pooled connection is checked again before use. Proxies from the environment
/// are ignored; behind a configured proxy only addresses written in a URL are checked.
public final class ImageDownloader: Sendable {
    /// Addresses tried per name.
    private static let maximumAddresses = 8

    let configuration: FetchConfiguration
    private let profiles: Locked<[String: CredentialProfile]>
    private let resolver: any NameResolving
    private let transfers: Transfers
    let robots = RobotsCache()
    package let origins: OriginLimiter

    /// A downloader with its own network thread and name server thread.
    public convenience init(_ configuration: FetchConfiguration = FetchConfiguration()) {
        self.init(configuration, resolver: Resolver())
    }

    package init(_ configuration: FetchConfiguration = FetchConfiguration(), resolver: any NameResolving) {
        self.configuration = configuration
        self.resolver = resolver
        profiles = Locked(configuration.credentials)
        origins = OriginLimiter(configuration)
        transfers = Transfers(configuration, origins)
    }

    /// Replaces the configured credential profiles for later downloads.
    public func replaceCredentials(_ credentials: [String: CredentialProfile]) {
        profiles.withLock { $0 = credentials }
    }

    /// Downloads a URL, following redirects, into an open file.
    ///
    /// - Parameter file: a descriptor, owned by the caller, written from its current position. Not used after the
    ///   return; after a failure it holds part of the body or nothing.
    /// - Throws: `FetchError`; `cancelled` immediately when the task is cancelled.
    public func fetch(_ request: FetchRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        let isAllowed = Locked(true)
        var response: FetchResponse
        do throws(FetchError) {
            response = try await follow(request, into: file) { [self] url throws(FetchError) in
                if configuration.robots.readsFile, try await !isAllowedByRobots(url, for: request) {
                    isAllowed.withLock { $0 = false }
                }
            }
        } catch {
            // A 304 after a redirect confirms the copy too, although no validators of another URL were sent.
            guard error.code == .notModified, request.validators != nil else { throw error }
            response = .notModified
        }
        try addRobots(to: &response, isAllowed: isAllowed.withLock { $0 })
        return response
    }

    /// Follows redirects until another response arrives; calls `check` before each request.
    func follow(
        _ fetch: FetchRequest, into file: Int32, check: (SourceURL) async throws(FetchError) -> Void
    ) async throws(FetchError) -> FetchResponse {
        let start = ContinuousClock.now
        var request = try HTTPRequest(fetch, configuration, profiles.withLock { $0 })
        var timings = FetchTimings()
        while true {
            let url = request.url
            guard request.policy.allows(port: url.origin.port) else { throw await refusedPort(request) }
            try await check(url)
            // Checked again when the transfer starts; checking here saves the lookup.
            if let refusal = origins.limits.withLock({ $0.refusal(url.origin, at: .now) }) {
                throw refusal.error(url, origins.settings)
            }
            let lookupStart = ContinuousClock.now
            var hop = FetchHop(url: url, start: lookupStart)
            defer { fetch.observesHop?(hop.ended()) }
            do {
                defer { fetch.observesWait?(.lookup, .now - lookupStart) }
                request.addresses = try await judged(url.origin, []) { () throws(FetchError) in
                    try await addresses(for: request)
                }
            }
            timings.lookup += .now - lookupStart
            request.timeLeft = request.limits.total - timings.lookup - timings.transfer
            guard request.timeLeft > .zero else {
                throw FetchError(.timedOut, "\(url): not done within the total limit of \(request.limits.total)")
            }
            var response = try await judged(url.origin, request.addresses) { () throws(FetchError) in
                try await transfers.perform(request, into: file)
            }
            timings.add(response.timings)
            (hop.status, hop.timings) = (response.status, response.timings)
            if let location = response.location {
                try request.follow(response.status ?? 0, to: location, cookies: response.cookies)
                continue
            }
            timings.total = .now - start
            response.timings = timings
            response.redirects = request.redirects
            return response
        }
    }

    /// Runs one step of a request. A failure that this machine may have caused becomes a local fault if there is
    /// evidence: a dead gateway, or `LocalEvidence`.
    private func judged<Value>(
        _ origin: Origin, _ addresses: [IPAddress], _ step: () async throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        do throws(FetchError) {
            return try await step()
        } catch {
            guard let cause = error.localCause,
                let reason = (cause == .network ? LocalFault.deadGateway(to: addresses) : nil)
                    ?? origins.limits.withLock({ $0.evidence.reason(cause, origin, at: .now) })
            else { throw error }
            throw FetchError(.localFault, "\(error.message); \(reason)", curlCode: error.curlCode)
        }
    }

    /// Addresses of the URL's host or of the proxy; at least one.
    private func addresses(for request: HTTPRequest) async throws(FetchError) -> [IPAddress] {
        let url = request.url
        guard let proxy = request.proxy?.url else {
            return try await lookUp(url, request.limits) { request.policy.refusal(of: $0) }
        }
        if let literal = url.literal, let refusal = request.policy.refusal(of: literal) {
            throw FetchError(.addressRefused, "\(url): refused address: \(literal) (\(refusal))")
                .needing([.address(AddressPolicy.range(opening: literal))])
        }
        do throws(FetchError) {
            return try await lookUp(proxy, request.limits) { _ in nil }
        } catch {
            guard error.code != .cancelled else { throw error }
            throw FetchError(.localFault, "\(url): the proxy: \(error.message)")
        }
    }

    /// The error for a refused port. Also lists refused addresses, so that one change of settings is enough.
    private func refusedPort(_ request: HTTPRequest) async -> FetchError {
        let url = request.url
        let port = url.origin.port
        var needs: [RequiredSetting] = [.port(port)]
        do throws(FetchError) { _ = try await addresses(for: request) } catch {
            if error.code == .addressRefused { needs += error.needs }
        }
        return FetchError(
            .portRefused, "\(url): port \(port) is refused\(needs.count > 1 ? ", and so is the address" : "")"
        ).needing(needs)
    }

    private func lookUp(
        _ url: SourceURL, _ limits: FetchLimits, refusal: (IPAddress) -> String?
    ) async throws(FetchError) -> [IPAddress] {
        let host = url.origin.host
        let found: [IPAddress]
        do throws(LookupFailure) {
            found =
                if let literal = url.literal { [literal] } else {
                    try await resolver.addresses(of: url.lookupName, within: limits.lookup)
                }
        } catch {
            throw switch error {
            case .notFound: FetchError(.nameNotFound, "\(url): the name \(host) is not found")
            case .timedOut:
                FetchError(
                    .timedOut, "\(url): the name \(host) was not found within the limit of \(limits.lookup)",
                    localCause: .network)
            case .serverFailed:
                FetchError(.nameNotFound, "\(url): the name servers failed to look up \(host)", localCause: .network)
            case .unreachable:
                FetchError(.localFault, "\(url): the name \(host) was not looked up: no name server can be reached")
            case .cancelled: FetchError(.cancelled, "\(url): cancelled")
            }
        }
        let open = found.filter { refusal($0) == nil }.prefix(Self.maximumAddresses)
        if open.isEmpty {
            let reasons = found.prefix(Self.maximumAddresses).map { "\($0) (\(refusal($0) ?? ""))" }
            let ranges = Set(found.prefix(Self.maximumAddresses).map(AddressPolicy.range(opening:))).sorted()
            throw FetchError(.addressRefused, "\(url): refused address: \(reasons.joined(separator: ", "))")
                .needing(ranges.map { .address($0) })
        }
        return Array(open)
    }

    // MARK: - All downloads

    /// Waiting and running transfers; a shared one counts once (SDWebImage 5.21.5, currentDownloadCount).
    public var currentDownloadCount: Int { get async { await transfers.count } }

    /// Requests waiting for a transfer.
    var subscriberCount: Int { get async { await transfers.subscriberCount } }

    /// Ends every download with error 2002 (SDWebImage 5.21.5, cancelAllDownloads).
    public func cancelAllDownloads() async { await transfers.cancelAll() }

    /// While suspended no transfer starts; running ones continue (SDWebImage 5.21.5, suspended).
    public func suspend(_ suspends: Bool) async { await transfers.suspend(suspends) }
}
