package import Downloader
private import FoundationEssentials

/// Sends request bodies to one URL of a collector.
package struct OTLPClient: Sendable {
    package struct Settings: Sendable, Equatable {
        /// Additional headers, none by default.
        package var headers: [HeaderField] = []
        /// Time limit per request, `10 s`.
        package var timeout = Duration.seconds(10)
        /// A PEM file of certificate authorities, nil for the system's.
        package var authorities: String?

        package init() {}
    }

    enum Answer: Sendable, Equatable {
        /// The collector has it, except this many spans or data points.
        case accepted(rejected: Int)
        /// It would be refused again.
        case refused(String)
        /// May be accepted later, not before the collector's given time.
        case unavailable(String, retryAfter: Duration?)
    }

    private static let longestAnswer = 64 << 10
    /// The statuses after which OTLP allows a retry.
    private static let retried: Set<Int> = [429, 502, 503, 504]

    private let url: String
    private let settings: Settings
    private let downloader: ImageDownloader

    /// A client with its own network thread, which reaches any address at the URL's port.
    ///
    /// - Throws: `invalidURL` or `unsupportedScheme` unless the URL is http or https; `invalidOperation` for an invalid
    ///   header.
    package init(_ url: String, _ settings: Settings = Settings()) throws(FetchError) {
        let address = try SourceURL(url)
        if let header = settings.headers.first(where: { !$0.isSendable }) {
            throw FetchError(.invalidOperation, "the header '\(header.name)' cannot be sent")
        }
        self.url = url
        self.settings = settings
        var limits = FetchLimits()
        limits.body = Int64(Self.longestAnswer)
        limits.resumptions = 0
        var fetching = FetchConfiguration(
            policy: AddressPolicy(
                allowedAddresses: ["0.0.0.0/0", "::/0"].compactMap { CIDR($0) }, allowedPorts: [address.origin.port]),
            limits: limits)
        fetching.authorities = settings.authorities
        fetching.origins.maxWait = .zero
        downloader = ImageDownloader(fetching)
    }

    /// - Parameter limit: this request's time limit, if shorter than the setting.
    func post(_ body: [UInt8], within limit: Duration = .seconds(3_600)) async -> Answer {
        let time = min(limit, settings.timeout)
        var request = FetchRequest(url)
        request.method = "POST"
        request.body = body
        request.headers = [HeaderField("Content-Type", "application/json"), HeaderField("Accept", "application/json")]
        request.headers += settings.headers
        request.deadline = .now + time
        var limits = FetchLimits()
        (limits.total, limits.body, limits.resumptions) = (time, Int64(Self.longestAnswer), 0)
        request.limits = limits
        do throws(FetchError) {
            let file = try MemoryFile(name: "collector")
            let response = try await downloader.call(request, into: file.descriptor)
            let status = response.status ?? 0
            if (200..<300).contains(status) {
                return .accepted(rejected: Self.rejected(file.prefix(Self.longestAnswer)))
            }
            let reason = "the collector answered \(status)"
            guard Self.retried.contains(status) else { return .refused(reason) }
            let seconds = response.headers["Retry-After"].flatMap { Int64($0) }
            return .unavailable(reason, retryAfter: seconds.map { .seconds($0) })
        } catch {
            return .unavailable(error.message, retryAfter: nil)
        }
    }

    /// Spans or data points that an answer reports as not accepted.
    static func rejected(_ answer: [UInt8]) -> Int {
        guard let parsed = try? JSONDecoder().decode(PartialAnswer.self, from: Data(answer)) else { return 0 }
        let partial = parsed.partialSuccess
        return max(0, partial?.rejectedSpans?.value ?? partial?.rejectedDataPoints?.value ?? 0)
    }
}

/// The used part of an answer's body.
private struct PartialAnswer: Decodable {
    struct Partial: Decodable {
        var rejectedSpans: Count?
        var rejectedDataPoints: Count?
    }

    /// A 64-bit number, which JSON may represent as text.
    struct Count: Decodable {
        let value: Int

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = try (try? container.decode(Int.self)) ?? Int(container.decode(String.self)) ?? 0
        }
    }

    var partialSuccess: Partial?
}
