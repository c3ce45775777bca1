/// Decides which failure ends a copy: one that the other files have, too. A pure value.
///
/// A damaged file fails alone. A full disk or a missing bucket ends the copy at once. A refusal, or a server that does
/// not respond, may concern one file or all of them: many in a row end the copy.
package struct CopyFailures: Sendable {
    /// How many failures in a row, of those that may concern every file, end a copy.
    package static let limit = 100

    private var row = 0

    /// No failure so far.
    package init() {}

    /// Counts a file.
    ///
    /// - Throws: its `StoreError` when that ends the copy.
    package mutating func add(_ result: Result<StoreCopy.Outcome, StoreError>) throws(StoreError) {
        switch result {
        // No store was asked.
        case .success(.stray): return
        case .success: row = 0
        case .failure(let error):
            switch error.extent {
            case .file: return
            case .store: throw error
            case .unknown:
                row += 1
                if row >= Self.limit { throw error }
            }
        }
    }
}

extension StoreError {
    /// What a failure says about the other files of the store.
    fileprivate enum Extent {
        /// Nothing: the file fails alone.
        case file
        /// They may fail in the same way.
        case unknown
        /// They fail in the same way.
        case store
    }

    fileprivate var extent: Extent {
        switch code {
        case .damaged, .tooLarge, .nameTooLong, .invalidName, .exists, .isADirectory: .file
        // A file over the maximum size fails alone.
        case .diskFull: isLocal ? .store : .file
        // A file of another user, or an object in an archive class, fails alone; wrong credentials fail always. A few
        // objects that the server never sends can keep a client from further requests for a moment.
        case .permission, .unavailable: .unknown
        // Without a system call it is the bucket: a missing object is no failure.
        case .missing where number == 0: .store
        default: isLocal ? .store : .unknown
        }
    }
}
