internal import Concurrency

/// Loads lists of images ahead of need, a few at a time: SDWebImage's prefetcher, for a program without a queue.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(loader: manager)
/// await withTaskGroup(of: Void.self) { group in
///     group.addTask { await prefetcher.run() }
///     prefetcher.prefetch(urls, completed: { counts in print("\(counts.finished), of them \(counts.skipped) failed") })
///     prefetcher.finish()
/// }
/// ```
///
/// `run` owns every load: none begins before it is called, and none goes on after it has returned. Lists are worked
/// through in the order of their submission; all share the places. Equal URLs are loaded as often as they stand there:
/// the downloader shares transfers, the cache spares the rest. Source: SDWebImage 5.21.5, `SDWebImagePrefetcher`.
public final class ImagePrefetcher: Sendable {
    /// Told how far a token is, in steps of one.
    public typealias Progress = @Sendable (_ finished: Int, _ total: Int) -> Void
    /// Told once, when all elements of a token have ended.
    public typealias Completion = @Sendable (PrefetchCounts) -> Void

    /// A token's URLs that have not begun.
    private struct Waiting: Sendable {
        let token: PrefetchToken.ID
        let wishes: PrefetchOptions
        var urls: ArraySlice<String>
    }

    private struct Closures: Sendable {
        let progress: Progress?
        let completed: Completion?
    }

    private struct Element: Sendable {
        let token: PrefetchToken.ID
        let number: Int
        let request: LoadRequest
    }

    private struct Name: Sendable, Hashable {
        let token: PrefetchToken.ID
        let number: Int
    }

    private struct State: Sendable {
        var ledger = PrefetchCounters()
        var closures: [PrefetchToken.ID: Closures] = [:]
        var lastToken: PrefetchToken.ID = 0
        var waiting: [Waiting] = []
        var isFinishing = false
        /// What is to be told, and whether somebody is telling it.
        var untold: [PrefetchCounters.Event] = []
        var isTelling = false
    }

    private let loader: any Loader
    private let observer: (any PrefetchObserver)?
    private let places: AsyncSemaphore
    private let state = Locked(State())
    private let running = RunningTasks<Name>()
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    /// A prefetcher.
    ///
    /// - Parameters:
    ///   - loader: loads each image, an `ImageManager` as a rule.
    ///   - mostAtOnce: loads at once, shared by all tokens, 3 by default (`maxConcurrentPrefetchCount`).
    ///   - observer: hears of every element, none by default.
    public init(loader: any Loader, mostAtOnce: Int = 3, observer: (any PrefetchObserver)? = nil) {
        self.loader = loader
        self.observer = observer
        places = AsyncSemaphore(mostAtOnce)
        (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - Lists

    /// Hands in a list.
    ///
    /// - Parameters:
    ///   - urls: the URLs; what is none fails with error 1000.
    ///   - wishes: what is wanted of each.
    ///   - progress: told after each element.
    ///   - completed: told at the end, unless the token is cancelled.
    /// - Returns: nil for an empty list, whose completion, with zeros, is called before this returns.
    @discardableResult
    public func prefetch(
        _ urls: [String], wishes: PrefetchOptions = PrefetchOptions(), progress: Progress? = nil,
        completed: Completion? = nil
    ) -> PrefetchToken? {
        guard !urls.isEmpty else {
            completed?(PrefetchCounts())
            return nil
        }
        let token = state.withLock { state in
            state.lastToken += 1
            state.ledger.submit(state.lastToken, total: urls.count)
            state.closures[state.lastToken] = Closures(progress: progress, completed: completed)
            state.waiting.append(Waiting(token: state.lastToken, wishes: wishes, urls: urls[...]))
            return state.lastToken
        }
        ring.yield()
        return PrefetchToken(id: token, urls: urls, prefetcher: self)
    }

    /// Gives up every token that runs.
    public func cancelPrefetching() { for token in state.withLock({ $0.ledger.tokens }) { cancel(token) } }

    func cancel(_ token: PrefetchToken.ID) {
        let wasRunning = state.withLock { state in
            state.waiting.removeAll { $0.token == token }
            state.closures[token] = nil
            return state.ledger.cancel(token)
        }
        if wasRunning { running.cancel { $0.token == token } }
    }

    // MARK: - Working

    /// Lets `run` return as soon as no list waits; one that is handed in after that is not begun.
    public func finish() {
        state.withLock { $0.isFinishing = true }
        ring.yield()
    }

    /// Loads what is handed in, until `finish` is called and all is done, or the calling task is cancelled.
    public func run() async {
        await withDiscardingTaskGroup { loads in
            for await _ in bell {
                while await places.acquire() {
                    guard let element = takeNext() else {
                        places.release()
                        break
                    }
                    loads.addTask { [self] in
                        await load(element)
                        places.release()
                    }
                }
                if state.withLock({ $0.isFinishing && $0.waiting.isEmpty }) { break }
            }
        }
    }

    private func takeNext() -> Element? {
        state.withLock { state in
            guard let first = state.waiting.first, let url = first.urls.first else { return nil }
            let number = first.urls.startIndex
            if first.urls.count == 1 { state.waiting.removeFirst() } else { state.waiting[0].urls.removeFirst() }
            let wishes = first.wishes
            return Element(
                token: first.token, number: number,
                request: LoadRequest(
                    url: url, variants: wishes.variants, options: wishes.options, context: wishes.context))
        }
    }

    private func load(_ element: Element) async {
        let (failed, _) = await running.run(Name(token: element.token, number: element.number)) { () async -> Bool? in
            // A token given up before its load could be found by name.
            guard state.withLock({ $0.closures[element.token] != nil }) else { return nil }
            do throws(LoadError) {
                _ = try await loader.load(element.request)
                return false
            } catch {
                return true
            }
        }
        guard let failed else { return }
        state.withLock { state in
            state.untold += state.ledger.end(element.token, url: element.request.url, failed: failed)
        }
        tell()
    }

    /// Tells what is to be told, in order; whoever comes while another tells leaves it to that one.
    private func tell() {
        var isTelling = false
        while true {
            let next: (PrefetchCounters.Event, Closures?)? = state.withLock { state in
                if state.isTelling && !isTelling { return nil }
                guard !state.untold.isEmpty else {
                    state.isTelling = false
                    return nil
                }
                state.isTelling = true
                let event = state.untold.removeFirst()
                switch event {
                case .progress(let token, _, _): return (event, state.closures[token])
                case .completed(let token, _): return (event, state.closures.removeValue(forKey: token))
                default: return (event, nil)
                }
            }
            guard let (event, closures) = next else { return }
            isTelling = true
            tell(event, closures)
        }
    }

    private func tell(_ event: PrefetchCounters.Event, _ closures: Closures?) {
        switch event {
        case .prefetched(let url, let finished, let total):
            observer?.didPrefetch(url, finished: finished, total: total)
        case .progress(_, let finished, let total): closures?.progress?(finished, total)
        case .allFinished(let total, let skipped): observer?.didFinish(total: total, skipped: skipped)
        case .completed(_, let counts): closures?.completed?(counts)
        }
    }
}
