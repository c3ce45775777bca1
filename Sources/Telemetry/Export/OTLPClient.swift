package import Downloader
private import FoundationEssentials

/// Sends the bodies of requests to one URL of a collector.
package struct OTLPClient: Sendable {
    /// What is the same for all requests.
    package struct Settings: Sendable, Equatable {
        /// Further headers of each request, none by default.
        package var headers: [HeaderField] = []
        /// The time of one request, `10 s`.
        package var timeout = Duration.seconds(10)
        /// A PEM file of certificate authorities, nil for the system's.
        package var authorities: String?

        package init() {}
    }

    /// What became of a request.
    enum Answer: Sendable, Equatable {
        /// The collector has it, but for so many spans or data points.
        case accepted(rejected: Int)
        /// It would be refused again.
        case refused(String)
        /// It may be accepted later, not before the time that the collector names.
        case unavailable(String, retryAfter: Duration?)
    }

    private static let longestAnswer = 64 << 10
    /// The statuses after which OTLP allows another try.
    private static let retried: Set<Int> = [429, 502, 503, 504]

    private let url: String
    private let settings: Settings
    private let downloader: ImageDownloader

    /// A client with a network thread of its own, which reaches any address at the URL's port.
    ///
    /// - Throws: `invalidURL` or `unsupportedScheme` for a URL that is not http or https; `invalidOperation` for a header
    ///   that cannot be sent.
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

    /// - Parameter limit: the time of this request, where it is shorter than the setting.
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

    /// How many spans or data points an answer says were not accepted.
    static func rejected(_ answer: [UInt8]) -> Int {
        guard let parsed = try? JSONDecoder().decode(PartialAnswer.self, from: Data(answer)) else { return 0 }
        let partial = parsed.partialSuccess
        return max(0, partial?.rejectedSpans?.value ?? partial?.rejectedDataPoints?.value ?? 0)
    }
}

/// The body of an answer as far as it is read.
private struct PartialAnswer: Decodable {
    struct Partial: Decodable {
        var rejectedSpans: Count?
        var rejectedDataPoints: Count?
    }

    /// A 64-bit number, which JSON may have as a text.
    struct Count: Decodable {
        let value: Int

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = try (try? container.decode(Int.self)) ?? Int(container.decode(String.self)) ?? 0
        }
    }

    var partialSuccess: Partial?
}
