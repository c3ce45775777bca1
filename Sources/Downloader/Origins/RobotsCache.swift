internal import Concurrency

/// Knows what origins want of robots, and what this program does about it.
///
/// A `robots.txt` is fetched by the same downloader, rules and limits as images, once a day and origin (RFC 9309): what
/// is not there (4xx, too many redirects) allows everything; an origin that fails (5xx, no connection) is not asked for
/// its images either, as if they had failed, and so tried again later.
package actor RobotsCache {
    /// What is done.
    package struct Settings: Sendable, Equatable {
        /// Whether images are refused that are forbidden; else it is recorded only. `false`
        package var refuses = false
        /// Whether `robots.txt` is read. `false`
        package var readsFile = false

        package init() {}
    }

    private typealias Answer = Result<RobotsRules, FetchError>

    private struct Entry {
        let answer: Answer
        let bytes: Int
        let expiry: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(86_400)
    private static let failureLifetime = Duration.seconds(60)
    /// What libcurl hands over at once, at most.
    private static let longestPiece = 64 << 10
    /// Bytes of all files remembered; and their number.
    private static let mostBytes = 16 << 20
    private static let mostOrigins = 4096

    package nonisolated let settings: Settings
    private let downloader: ImageDownloader
    private var known: [Origin: Entry] = [:]
    private var bytes = 0
    /// Origins whose file is under way, and who waits for it.
    private var waiting: [Origin: [AsyncEvent]] = [:]

    /// A keeper that fetches by `downloader`.
    package init(_ settings: Settings, downloader: ImageDownloader) {
        self.settings = settings
        self.downloader = downloader
    }

    /// Who waits for a file that another one asked for.
    var waiterCount: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Whether the rules of the URL's origin allow it.
    ///
    /// - Throws: `robotsRefused` where they do not and that is to be obeyed; why the rules could not be had.
    package func admit(_ url: SourceURL) async throws(FetchError) -> Bool {
        if try await rules(of: url).allow(url.target) { return true }
        if settings.refuses { throw FetchError(.robotsRefused, "\(url): refused by robots.txt of \(url.origin)") }
        return false
    }

    private func rules(of url: SourceURL) async throws(FetchError) -> RobotsRules {
        let origin = url.origin
        while true {
            if let entry = known[origin], .now < entry.expiry { return try entry.answer.get() }
            if Task.isCancelled { throw FetchError(.cancelled, "\(url): cancelled") }
            if waiting[origin] == nil { return try await fetch(url).get() }
            // Somebody asks already; whoever is cancelled meanwhile leaves.
            let bell = AsyncEvent()
            waiting[origin]?.append(bell)
            await bell.wait()
            waiting[origin]?.removeAll { $0 === bell }
        }
    }

    private func fetch(_ url: SourceURL) async -> Answer {
        let origin = url.origin
        waiting[origin] = []
        let (answer, size) = await load(origin)
        // A fetch that was called off, or put off, says nothing to the others.
        if !answer.isPassing {
            forget(origin)
            let lifetime = (try? answer.get()) == nil ? Self.failureLifetime : Self.lifetime
            makeRoom(for: size)
            known[origin] = Entry(answer: answer, bytes: size, expiry: .now + lifetime)
            bytes += size
        }
        for bell in waiting.removeValue(forKey: origin) ?? [] { bell.signal() }
        return answer
    }

    private func load(_ origin: Origin) async -> (Answer, Int) {
        do throws(FetchError) {
            let file = try MemoryFile(name: "robots.txt")
            var request = FetchRequest(url: try SourceURL("\(origin)/robots.txt"), descriptor: file.descriptor)
            // Longer than an image may be is no fault here: what stands behind that counts for nothing and is not
            // waited for. The piece that is refused is not written.
            var limits = downloader.limits
            limits.body = .max
            request.limits = limits
            let enough = RobotsRules.longest + Self.longestPiece
            request.inspectedBytes = enough
            request.inspects = { $0.count < enough ? .undecided : .refused(.bodyTooLarge, "long enough") }
            do throws(FetchError) {
                _ = try await downloader.fetch(request)
            } catch {
                switch error.code {
                // Longer than counts: the beginning.
                case .bodyTooLarge: break
                case .badImageData, .tooManyRedirects, .loginDenied: return (.success(.none), 0)
                case .badStatus where (300..<500).contains(error.httpStatus ?? 0) && error.httpStatus != 429:
                    return (.success(.none), 0)
                default:
                    throw FetchError(
                        error.code, "robots.txt: \(error.message)", httpStatus: error.httpStatus,
                        retryAfter: error.retryAfter, curlCode: error.curlCode)
                }
            }
            let bytes = file.prefix(RobotsRules.longest)
            return (.success(RobotsRules(bytes)), bytes.count)
        } catch {
            return (.failure(error), 0)
        }
    }

    private func forget(_ origin: Origin) { bytes -= known.removeValue(forKey: origin)?.bytes ?? 0 }

    /// What has expired goes first, then whichever.
    private func makeRoom(for size: Int) {
        guard known.count >= Self.mostOrigins || bytes + size > Self.mostBytes else { return }
        for origin in known.filter({ $0.value.expiry <= .now }).keys { forget(origin) }
        while known.count >= Self.mostOrigins || bytes + size > Self.mostBytes, let origin = known.keys.first {
            forget(origin)
        }
    }
}

extension Result<RobotsRules, FetchError> {
    /// Whether it failed for the one who asked, not for all.
    fileprivate var isPassing: Bool {
        guard case .failure(let error) = self else { return false }
        return error.code == .cancelled || error.code == .originHeld
    }
}

extension SourceURL {
    /// Path and query, as they are asked for.
    var target: String {
        let behind = requestText.utf8.dropFirst(origin.scheme.rawValue.utf8.count + 3)
        guard let start = behind.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
            return "/"
        }
        return String(behind[start...]) ?? "/"
    }
}
