internal import Glibc

/// Knows what origins want of robots, and what this program does about it.
///
/// A `robots.txt` is fetched by the same downloader, rules and limits as images, once a day and origin (RFC 9309): what
/// is not there (4xx, too many redirects) allows everything; an origin that fails (5xx, no connection) is not asked for
/// its images either, as if they had failed, and so tried again later.
package actor RobotsKeeper {
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
    /// Bytes of all files remembered; and their number.
    private static let mostBytes = 16 << 20
    private static let mostOrigins = 4096

    package nonisolated let settings: Settings
    private let downloader: Downloader
    private var known: [Origin: Entry] = [:]
    private var bytes = 0
    private var waiting: [Origin: [CheckedContinuation<Void, Never>]] = [:]

    /// A keeper that fetches by `downloader`.
    package init(_ settings: Settings, downloader: Downloader) {
        self.settings = settings
        self.downloader = downloader
    }

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
            // Somebody asks already; the fetch has its limits, so this ends.
            await withCheckedContinuation { waiting[origin]?.append($0) }
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
        for waiter in waiting.removeValue(forKey: origin) ?? [] { waiter.resume() }
        return answer
    }

    private func load(_ origin: Origin) async -> (Answer, Int) {
        guard let scratch = tmpfile() else {
            return (.failure(FetchError(.writeFailed, "no temporary file for a robots.txt (errno \(errno))")), 0)
        }
        defer { fclose(scratch) }
        let file = fileno(scratch)
        do throws(FetchError) {
            let url = try SourceURL("\(origin)/robots.txt")
            do throws(FetchError) {
                _ = try await downloader.fetch(FetchRequest(url: url, descriptor: file))
            } catch {
                switch error.code {
                // Longer than a body may be: the beginning counts, if there is one.
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
        } catch {
            return (.failure(error), 0)
        }
        var bytes = [UInt8](repeating: 0, count: RobotsRules.longest)
        let count = max(0, pread(file, &bytes, bytes.count, 0))
        return (.success(RobotsRules(bytes.prefix(count))), count)
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
