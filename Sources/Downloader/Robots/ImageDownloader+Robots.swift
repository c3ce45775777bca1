extension ImageDownloader {
    /// Maximum bytes that libcurl passes on at once.
    private static let maximumPieceBytes = 64 << 10

    /// Whether the origin's `robots.txt` allows a URL.
    ///
    /// Requests the file with the image's credential profile and certificate rule.
    ///
    /// - Throws: `robotsRefused` if it does not and `refuses` is set; the reason if the file could not be read.
    func isAllowedByRobots(_ url: SourceURL, for image: FetchRequest) async throws(FetchError) -> Bool {
        let rules = try await robots.rules(of: url) { [self] in await loadRobots(url.origin, for: image) }
        if rules.allow(url.target) { return true }
        if configuration.robots.refuses {
            throw FetchError(.robotsRefused, "\(url): refused by robots.txt of \(url.origin)")
        }
        return false
    }

    /// Records the directives for a response.
    ///
    /// - Throws: `robotsRefused` if one forbids the image and `refuses` is set.
    func addRobots(to response: inout FetchResponse, isAllowed: Bool) throws(FetchError) {
        let directives = RobotsDirectives(response.robotsTag)
        if configuration.robots.refuses, let forbids = directives.forbids {
            let url = response.url.map { "\($0): " } ?? ""
            throw FetchError(
                .robotsRefused, "\(url)refused by X-Robots-Tag: \(forbids)", httpStatus: response.status)
        }
        let names = directives.names + (isAllowed ? [] : ["robots.txt"])
        response.robots = names.isEmpty ? nil : names.joined(separator: ", ")
    }

    /// Reads an origin's `robots.txt` with the limits of images (RFC 9309): absent (4xx) and unreadable files allow
    /// everything; 5xx, 429 and failed connections are failures.
    private func loadRobots(_ origin: Origin, for image: FetchRequest) async -> RobotsCache.Answer {
        do throws(FetchError) {
            let file = try MemoryFile(name: "robots.txt")
            var request = FetchRequest("\(origin)/robots.txt")
            request.credentials = image.credentials
            request.allowsInvalidCertificates = image.allowsInvalidCertificates
            request.policy = image.policy
            // A longer file is no failure: the transfer ends at the piece that exceeds the limit, which is not written.
            var limits = configuration.limits
            limits.body = .max
            request.limits = limits
            let enough = RobotsRules.maximumBytes + Self.maximumPieceBytes
            request.inspectedBytes = enough
            request.inspects = { $0.count < enough ? .undecided : .refused(.bodyTooLarge, "long enough") }
            do throws(FetchError) {
                _ = try await follow(request, into: file.descriptor) { _ in }
            } catch {
                switch error.code {
                case .bodyTooLarge: break
                case .badImageData, .tooManyRedirects, .loginDenied: return .success(.none)
                case .badStatus where (300..<500).contains(error.httpStatus ?? 0) && error.httpStatus != 429:
                    return .success(.none)
                default:
                    throw FetchError(
                        error.code, "robots.txt: \(error.message)", httpStatus: error.httpStatus,
                        retryAfter: error.retryAfter, curlCode: error.curlCode, profile: error.profile)
                }
            }
            return .success(RobotsRules(file.prefix(RobotsRules.maximumBytes)))
        } catch {
            return .failure(error)
        }
    }
}

extension SourceURL {
    fileprivate var target: String {
        let rest = requestText.utf8.dropFirst(origin.scheme.rawValue.utf8.count + 3)
        guard let start = rest.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
            return "/"
        }
        return String(rest[start...]) ?? "/"
    }
}
