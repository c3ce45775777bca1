import Concurrency
import DiskCache
import Reports

/// The files of a cache as a stream, listed on a thread of its own at most 1000 files ahead of the reader.
struct EntryStream {
    let entries: AsyncThrowingStream<CacheEntry, any Error>
    private let room = ConditionLock((files: 1000, isFinished: false))

    init(_ place: CachePlace) {
        let room = room
        let store = place.store
        let thread = ThreadPool(name: "list", threads: 1)
        entries = AsyncThrowingStream { continuation in
            continuation.onTermination = { _ in room.change { $0.isFinished = true } }
            thread.submit {
                do throws(StoreError) {
                    try store.list(hidden: false) { entry in
                        continuation.yield(entry)
                        return room.wait { room in
                            if room.isFinished { return false }
                            guard room.files > 0 else { return nil }
                            room.files -= 1
                            return true
                        }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
    }

    /// Must be called for each entry that is read.
    func taken() { room.change { $0.files += 1 } }
}
