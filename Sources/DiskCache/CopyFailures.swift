/// Decides which failure ends a copy, because other files would fail too.
///
/// A damaged file fails alone. A full disk or a missing bucket ends the copy at once. A refusal, or a server that does
/// not respond, may affect one file or all: many consecutive ones end the copy.
package struct CopyFailures: Sendable {
    /// Consecutive failures, of kinds that may affect every file, that end a copy.
    package static let limit = 100

    private var row = 0

    package init() {}

    /// Counts a file.
    ///
    /// - Throws: its `StoreError` if that ends the copy.
    package mutating func add(_ result: Result<StoreCopy.Outcome, StoreError>) throws(StoreError) {
        switch result {
        // No store was accessed.
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
    /// A failure's meaning for the store's other files.
    fileprivate enum Extent {
        /// None: the file fails alone.
        case file
        /// They may fail too.
        case unknown
        /// They fail too.
        case store
    }

    fileprivate var extent: Extent {
        switch code {
        case .damaged, .tooLarge, .nameTooLong, .invalidName, .exists, .isADirectory: .file
        // A file over the maximum size fails alone.
        case .diskFull: isLocal ? .store : .file
        // A file of another user, or an object in an archive class, fails alone; wrong credentials always fail. A few
        // objects that the server never sends can briefly block a client.
        case .permission, .unavailable: .unknown
        // Without a system call the bucket is missing: a missing object is no failure.
        case .missing where number == 0: .store
        default: isLocal ? .store : .unknown
        }
    }
}
