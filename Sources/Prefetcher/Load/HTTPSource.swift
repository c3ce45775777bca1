public import Downloader
public import ImageModel

/// Originals from the web, by the downloader's rules and limits (SDWebImage 5.21.5, `SDWebImageDownloader`).
public struct HTTPSource: ImageSource {
    private let downloader: ImageDownloader
    /// Asked what origins want of robots; without one the header alone is recorded.
    private let robots: RobotsCache?
    /// Whether a load may ask for no check of certificates.
    private let allowsInvalidCertificates: Bool

    /// A source with a downloader of its own, for a program without a queue: it waits where an origin asks to be left
    /// alone, as nobody would come back later.
    ///
    /// - Parameters:
    ///   - configuration: addresses, limits, credentials, proxy; the defaults by default.
    ///   - manners: how origins are treated; the defaults, with 60 s of patience, by default.
    ///   - allowsInvalidCertificates: whether the option AllowInvalidSSLCertificates is heard, `false` by default.
    public init(
        _ configuration: FetchConfiguration = FetchConfiguration(), manners: OriginSettings = .patient,
        allowsInvalidCertificates: Bool = false
    ) {
        self.init(
            ImageDownloader(configuration, origins: OriginLimiter(manners)),
            allowsInvalidCertificates: allowsInvalidCertificates)
    }

    /// A source over a downloader.
    ///
    /// - Parameters:
    ///   - robots: asked what origins want of robots; nil, the default, records `X-Robots-Tag` only.
    ///   - allowsInvalidCertificates: whether the option AllowInvalidSSLCertificates is heard, `false` by default.
    package init(_ downloader: ImageDownloader, robots: RobotsCache? = nil, allowsInvalidCertificates: Bool = false) {
        self.downloader = downloader
        self.robots = robots
        self.allowsInvalidCertificates = allowsInvalidCertificates
    }

    /// Any text: a URL that is none, or has another scheme, fails as one.
    public func canLoad(_ url: String) -> Bool { true }

    /// SDWebImage's rule, but for what is no URL at all: that fails as quickly without a list.
    public func shouldBlock(_ url: String, after failure: FailureReason) -> Bool {
        if failure.domain == "SDWebImageErrorDomain" && failure.code == 1000 { return false }
        return BlockRule.standard(failure)
    }

    /// Downloads into `file`; a copy that is still good is told as not modified.
    public func load(_ request: SourceRequest, into file: Int32) async throws(LoadError) -> SourceAnswer {
        do throws(FetchError) {
            let verdict = RobotsVerdict(robots)
            var wanted = try fetchRequest(request, file)
            wanted.admits = verdict.admits
            let body = try await downloader.fetch(wanted)
            let said = try verdict.said(of: body)
            if body.isNotModified { return .notModified }
            var answer = SourceBody(bytes: Int(body.bytes), sha256: body.sha256, status: body.status)
            answer.etag = body.etag
            answer.lastModified = body.lastModified
            answer.robotsTag = body.robotsTag
            answer.robots = said
            return .body(answer)
        } catch {
            if error.code == .notModified && request.validators != nil { return .notModified }
            throw LoadError(error)
        }
    }

    /// Transfers that wait or run; loads that share one count once (SDWebImage 5.21.5, currentDownloadCount).
    public var currentDownloadCount: Int { get async { await downloader.currentDownloadCount } }

    /// Ends every transfer that waits or runs with error 2002 (SDWebImage 5.21.5, cancelAllDownloads).
    public func cancelAllDownloads() async { await downloader.cancelAllDownloads() }

    /// While suspended no transfer starts; those that run go on (SDWebImage 5.21.5, suspended).
    public func suspend(_ suspends: Bool) async { await downloader.suspend(suspends) }

    private func fetchRequest(_ request: SourceRequest, _ file: Int32) throws(FetchError) -> FetchRequest {
        var fetch = FetchRequest(url: try SourceURL(request.url), descriptor: file, accepts: request.accepts)
        fetch.inspects = request.inspects
        fetch.priority =
            switch request.options.priority {
            case .high: .high
            case .normal: .normal
            case .low: .low
            }
        fetch.method = request.method
        fetch.headers = request.headers.sorted { $0.key < $1.key }.map { HeaderField($0.key, $0.value) }
        fetch.body = request.body.map { Array($0.utf8) }
        fetch.credentials = request.credentials
        fetch.handlesCookies = request.options.contains(.handleCookies)
        fetch.allowsInvalidCertificates =
            allowsInvalidCertificates && request.options.contains(.allowInvalidSSLCertificates)
        fetch.revalidation = request.validators.map { Revalidation(etag: $0.etag, lastModified: $0.lastModified) }
        if let progress = request.progress {
            fetch.progress = { step in if step.isAnswered { progress(step.received, step.expected) } }
        }
        if let modifier = request.responseModifier {
            fetch.rules.modifier = { head in
                let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
                guard let changed = modifier(SourceResponse(status: head.status, headers: headers)) else { return nil }
                var head = head
                head.status = changed.status
                head.headers = changed.headers.sorted { $0.key < $1.key }.map { HeaderField($0.key, $0.value) }
                return head
            }
        }
        return fetch
    }
}
