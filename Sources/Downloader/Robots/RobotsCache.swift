internal import Concurrency

/// `robots.txt` rules by origin: rules for a day, read failures for 60 s (RFC 9309), bounded in number and bytes.
final class RobotsCache: Sendable {
    typealias Answer = Result<RobotsRules, FetchError>

    private struct Entry: Sendable {
        let answer: Answer
        let expiry: ContinuousClock.Instant
        var bytes: Int { (try? answer.get())?.bytes ?? 0 }
    }

    private struct State: Sendable {
        var entries: [Origin: Entry] = [:]
        var bytes = 0

        mutating func remove(_ origin: Origin) { bytes -= entries.removeValue(forKey: origin)?.bytes ?? 0 }
    }

    private static let lifetime = Duration.seconds(86_400)
    private static let failureLifetime = Duration.seconds(60)
    private static let maximumBytes = 16 << 20
    private static let maximumOrigins = 4096

    private let state = Locked(State())
    private let loads = SingleFlight<Origin, Answer>()

    /// Tasks waiting for another task's load.
    var waiterCount: Int { loads.waiterCount }

    /// The rules for the URL's origin; `load` reads uncached rules, once for all concurrent tasks.
    ///
    /// - Throws: why they could not be read.
    func rules(of url: SourceURL, load: () async -> Answer) async throws(FetchError) -> RobotsRules {
        let origin = url.origin
        if let known = known(origin) { return try known.get() }
        let answer = await loads.run(origin, sharing: { !Self.isTransient($0) }) {
            if let known = known(origin) { return known }
            let answer = await load()
            if !Self.isTransient(answer) { store(answer, for: origin) }
            return answer
        }
        return try (answer ?? .failure(FetchError(.cancelled, "\(url): cancelled"))).get()
    }

    /// True if a load was cancelled or paused, which says nothing about the file.
    private static func isTransient(_ answer: Answer) -> Bool {
        guard case .failure(let error) = answer else { return false }
        return error.code == .cancelled || error.code == .originHeld
    }

    private func known(_ origin: Origin) -> Answer? {
        state.withLock { state in state.entries[origin].flatMap { .now < $0.expiry ? $0.answer : nil } }
    }

    /// Removes expired entries first, then any.
    private func store(_ answer: Answer, for origin: Origin) {
        let isFailure = (try? answer.get()) == nil
        let entry = Entry(answer: answer, expiry: .now + (isFailure ? Self.failureLifetime : Self.lifetime))
        state.withLock { state in
            func isFull() -> Bool {
                state.entries.count >= Self.maximumOrigins || state.bytes + entry.bytes > Self.maximumBytes
            }
            state.remove(origin)
            if isFull() {
                for expired in state.entries.filter({ $0.value.expiry <= .now }).keys { state.remove(expired) }
            }
            while isFull(), let any = state.entries.keys.first { state.remove(any) }
            state.entries[origin] = entry
            state.bytes += entry.bytes
        }
    }
}

/// How to treat robots directives (`X-Robots-Tag`) and `robots.txt`; by default directives are recorded.
public struct RobotsSettings: Sendable, Equatable {
    /// Whether to refuse images that they forbid with `LarderErrorDomain 104`, `false`.
    public var refuses = false
    /// Whether to read `robots.txt` before each request, `false`.
    public var readsFile = false

    /// Creates settings with the defaults.
    public init() {}
}
