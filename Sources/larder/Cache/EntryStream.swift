import Concurrency
import DiskCache

/// The files of a cache as a stream: the walk runs on its thread and is a thousand files ahead at most.
struct EntryStream {
    let entries: AsyncThrowingStream<CacheEntry, any Error>
    private let room = Room()

    /// Waited for on the walk's own thread only.
    private final class Room: Sendable {
        private let state = ConditionLock((places: 1000, isOver: false))

        /// False when nobody takes any more.
        func wait() -> Bool {
            state.wait { state in
                if state.isOver { return false }
                guard state.places > 0 else { return nil }
                state.places -= 1
                return true
            }
        }
        func signal() { state.change { $0.places += 1 } }
        func end() { state.change { $0.isOver = true } }
    }

    /// Begins to walk over the files without a hidden name.
    init(_ place: CachePlace) {
        let room = room
        let layout = place.layout
        let thread = ThreadPool(name: "walk", threads: 1)
        entries = AsyncThrowingStream { continuation in
            continuation.onTermination = { _ in room.end() }
            thread.submit {
                do throws(StoreError) {
                    try layout.visit(hidden: false) { entry in
                        if entry.isDirectory { return true }
                        continuation.yield(entry)
                        return room.wait()
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
    }

    /// One entry was taken from the stream.
    func taken() { room.signal() }
}
