import JobQueue

extension PostgresJobQueue {
    /// A batch as people call it: by its name, else by its number, because a name may be one.
    ///
    /// Throws `.unknownBatch`.
    func batch(called word: String) async throws(QueueError) -> BatchReference {
        do throws(QueueError) {
            return .id(try await progress(of: .name(word)).id)
        } catch {
            guard error.code == .unknownBatch, let number = Int64(word) else { throw error }
            return .id(number)
        }
    }
}
