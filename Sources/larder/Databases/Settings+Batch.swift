import JobQueue

/// Which of several databases a batch is in.
extension Settings {
    /// The settings with the database of a new or a named batch.
    ///
    /// A name stays in the database that has it. A new one goes to the first database of `DatabaseList.order`, a batch
    /// without a name to any. A database that cannot be asked about a new name is passed over with a note, so that the
    /// outage of one does not stop enqueuing into the others.
    func placing(_ name: String?) async throws -> Settings {
        let all = each
        guard all.count > 1 else { return self }
        guard let name else { return all.randomElement() ?? self }
        let order = DatabaseList.order(of: name, among: all.count)
        for (rank, position) in order.enumerated() {
            do {
                if try await all[position].contains(name) { return all[position] }
            } catch {
                let failure = CommandError(error).of(all[position].label)
                guard rank > 0 else { throw failure }
                Console.note("larder: \(failure.message); it is not asked for batch \(PrintableText.text(name))")
            }
        }
        return all[order[0]]
    }

    /// The settings with the database of a batch that exists, given by name or number.
    ///
    /// - Throws: wrong usage for a batch that several databases have, `.unknownBatch` when none has it, and an error of
    ///   a database before a name is found, or of any database for a number.
    func finding(_ batch: String) async throws -> Settings {
        let all = each
        guard all.count > 1 else { return self }
        let order = DatabaseList.order(of: batch, among: all.count)
        var found: [Settings] = []
        for position in order {
            do {
                if try await all[position].contains(batch) { found.append(all[position]) }
            } catch {
                // A name is in one database, unless it was enqueued into another one by other settings.
                guard !found.isEmpty, Int64(batch) == nil else { throw CommandError(error).of(all[position].label) }
            }
        }
        guard found.count < 2 else {
            let labels = found.compactMap(\.label).sorted().joined(separator: " and ")
            throw CommandError.usage("batch \(batch) exists in \(labels): name one of them by --database")
        }
        guard let settings = found.first else {
            let labels = all.compactMap(\.label).joined(separator: ", ")
            throw QueueError(.unknownBatch, "unknown batch \"\(batch)\" in \(labels)")
        }
        return settings
    }

    /// Whether the database has a batch of this name or number.
    private func contains(_ batch: String) async throws -> Bool {
        let queue = try await openQueue()
        do throws(QueueError) {
            _ = try await queue.progress(of: .name(batch), isDetailed: false)
            await queue.close()
            return true
        } catch {
            await queue.close()
            guard error.code == .unknownBatch else { throw error }
            return false
        }
    }
}
