internal import Concurrency

/// Loads lists of images ahead of need, a few at a time: SDWebImage's prefetcher, for programs without a queue.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(loader: manager)
/// await withTaskGroup(of: Void.self) { group in
///     group.addTask { await prefetcher.run() }
///     prefetcher.prefetch(urls, completed: { print("\($0.finished) finished, \($0.skipped) of them failed") })
///     prefetcher.finish()
/// }
/// ```
///
/// All loads are child tasks of `run`. Lists are loaded in the order of their submission and share `maxConcurrent`.
/// Equal URLs are loaded once each; downloads are shared and the cache answers the rest. Source: SDWebImage 5.21.5,
/// `SDWebImagePrefetcher`.
public final class ImagePrefetcher: Sendable {
    /// Called after each element of a token.
    public typealias Progress = @Sendable (_ finished: Int, _ total: Int) -> Void
    /// Called once, after the last element of a token.
    public typealias Completion = @Sendable (PrefetchCounts) -> Void

    /// A token that is neither complete nor cancelled.
    private struct List: Sendable {
        let options: PrefetchOptions
        let progress: Progress?
        let completed: Completion?
        /// URLs whose loads have not started.
        var waiting: ArraySlice<String>
    }

    private struct Element: Sendable, Hashable {
        let token: PrefetchToken.ID
        let index: Int
    }

    private struct State: Sendable {
        var counters = PrefetchCounters()
        var lists: [PrefetchToken.ID: List] = [:]
        /// Tokens with waiting URLs.
        var order: [PrefetchToken.ID] = []
        var lastToken: PrefetchToken.ID = 0
        /// `finish` was called and no `run` has ended since.
        var isFinishing = false
        /// Events to deliver, and whether a task is delivering them.
        var events: [PrefetchCounters.Event] = []
        var isDelivering = false
    }

    private let loader: any Loader
    private let observer: (any PrefetchObserver)?
    private let slots: AsyncSemaphore
    private let state = Locked(State())
    private let running = RunningTasks<Element>()
    private let changed = AsyncEvent()

    /// A prefetcher over a loader.
    ///
    /// - Parameters:
    ///   - loader: loads each image; usually an `ImageManager`.
    ///   - maxConcurrent: concurrent loads of all tokens, 3 by default (`maxConcurrentPrefetchCount`).
    ///   - observer: called for every element; none by default.
    public init(loader: any Loader, maxConcurrent: Int = 3, observer: (any PrefetchObserver)? = nil) {
        self.loader = loader
        self.observer = observer
        slots = AsyncSemaphore(maxConcurrent)
    }

    // MARK: - Lists

    /// Submits a list.
    ///
    /// - Parameters:
    ///   - urls: an invalid URL fails with error 1000.
    ///   - options: apply to every URL.
    ///   - progress: called after each element.
    ///   - completed: called at the end, unless the token is cancelled.
    /// - Returns: nil for an empty list, whose completion is called with zeros before this returns.
    @discardableResult
    public func prefetch(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions(), progress: Progress? = nil,
        completed: Completion? = nil
    ) -> PrefetchToken? {
        guard !urls.isEmpty else {
            completed?(PrefetchCounts())
            return nil
        }
        let token = state.withLock { state in
            state.lastToken += 1
            state.counters.submit(state.lastToken, total: urls.count)
            state.lists[state.lastToken] = List(
                options: options, progress: progress, completed: completed, waiting: urls[...])
            state.order.append(state.lastToken)
            return state.lastToken
        }
        changed.signal()
        return PrefetchToken(id: token, urls: urls, prefetcher: self)
    }

    /// Cancels every token in one step, so that the end of one token's loads starts no load of another.
    public func cancelPrefetching() { cancel { $0.counters.tokens } }

    func cancel(_ token: PrefetchToken.ID) { cancel { _ in [token] } }

    private func cancel(_ choose: (State) -> [PrefetchToken.ID]) {
        let cancelled = state.withLock { state in
            let tokens = Set(choose(state))
            state.order.removeAll { tokens.contains($0) }
            for token in tokens { state.lists[token] = nil }
            return tokens.filter { state.counters.cancel($0) }
        }
        if !cancelled.isEmpty { running.cancel { cancelled.contains($0.token) } }
    }

    // MARK: - Loading

    /// The current call of `run`, or the next one if none is active, returns once all submitted URLs are done. Lists
    /// submitted later wait for the next call.
    public func finish() {
        state.withLock { $0.isFinishing = true }
        changed.signal()
    }

    /// Loads submitted lists until `finish` was called and all are done, or the task is cancelled. May be called again,
    /// but not while another call is active.
    public func run() async {
        await withDiscardingTaskGroup { loads in
            while true {
                while await slots.acquire() {
                    guard let (element, request) = next() else {
                        slots.release()
                        break
                    }
                    loads.addTask { [self] in
                        await load(element, request)
                        slots.release()
                    }
                }
                if isFinished() { break }
                await changed.wait()
            }
        }
    }

    /// Whether the current `run` ends. A `finish` applies to one call.
    private func isFinished() -> Bool {
        state.withLock { state in
            let isFinished = Task.isCancelled || state.isFinishing && state.order.isEmpty
            if isFinished { state.isFinishing = false }
            return isFinished
        }
    }

    private func next() -> (Element, LoadRequest)? {
        state.withLock { state in
            guard let token = state.order.first, var list = state.lists[token], let url = list.waiting.first else {
                return nil
            }
            let element = Element(token: token, index: list.waiting.startIndex)
            list.waiting = list.waiting.dropFirst()
            state.lists[token] = list
            if list.waiting.isEmpty { state.order.removeFirst() }
            let options = list.options
            return (
                element,
                LoadRequest(url: url, variants: options.variants, options: options.options, context: options.context)
            )
        }
    }

    private func load(_ element: Element, _ request: LoadRequest) async {
        let (failed, _) = await running.run(element) { [self] () async -> Bool? in
            // The token may have been cancelled before its load was registered.
            guard state.withLock({ $0.lists[element.token] != nil }) else { return nil }
            do throws(LoadError) {
                _ = try await loader.load(request)
                return false
            } catch {
                return true
            }
        }
        guard let failed else { return }
        state.withLock { $0.events += $0.counters.end(element.token, url: request.url, failed: failed) }
        deliverEvents()
    }

    /// Delivers events in order. If another task is already delivering, that task delivers these too.
    private func deliverEvents() {
        var isDelivering = false
        while true {
            let next: (PrefetchCounters.Event, List?)? = state.withLock { state in
                if state.isDelivering && !isDelivering { return nil }
                state.isDelivering = !state.events.isEmpty
                guard state.isDelivering else { return nil }
                let event = state.events.removeFirst()
                switch event {
                case .progress(let token, _, _): return (event, state.lists[token])
                case .completed(let token, _): return (event, state.lists.removeValue(forKey: token))
                case .prefetched, .allFinished: return (event, nil)
                }
            }
            guard let (event, list) = next else { return }
            isDelivering = true
            switch event {
            case .prefetched(let url, let finished, let total):
                observer?.didPrefetch(url, finished: finished, total: total)
            case .progress(_, let finished, let total): list?.progress?(finished, total)
            case .allFinished(let total, let skipped): observer?.didFinish(total: total, skipped: skipped)
            case .completed(_, let counts): list?.completed?(counts)
            }
        }
    }
}
