/// Decides file by file what expires. A value: it looks at no file and deletes none.
struct ExpiryDecision {
    /// What becomes of a file when it is met.
    enum Verdict {
        /// It is too old: to be deleted at once. For the size it does not count, even when it cannot be deleted.
        case tooOld
        /// It is too old, but in use.
        case spared
        /// It stays, unless all together take too much room.
        case kept
    }

    private let expirationDate: Timestamp?
    private let hasLimit: Bool
    private var phase: SizePhase
    private var names = PackedName.Table()

    init(_ policy: ExpiryPolicy, now: Timestamp) {
        expirationDate = policy.expirationDate(at: now)
        hasLimit = policy.maxSize > 0
        phase = SizePhase(limit: policy.maxSize)
    }

    /// The next file.
    ///
    /// - Parameters:
    ///   - date: nil where there is none: never too old, and the first to go for its size.
    ///   - isSpared: it must not be deleted now.
    mutating func meet(_ name: String, date: Timestamp?, allocated: Int, isSpared: Bool = false) -> Verdict {
        let isTooOld = if let date, let expirationDate { date <= expirationDate } else { false }
        if isTooOld && !isSpared { return .tooOld }
        if hasLimit && isSpared {
            phase.addProtected(allocated: allocated)
        } else if hasLimit {
            phase.add(
                HeldFile(
                    date: date ?? Timestamp(nanoseconds: .min), allocated: allocated, name: names.compact(name)))
        }
        return isTooOld ? .spared : .kept
    }

    /// The next file to delete for the room it takes; nil when enough is gone. To be asked after every file.
    mutating func next() -> (file: HeldFile, name: String)? {
        guard let file = phase.next() else { return nil }
        let name = names.text(file.name)
        names.release(file.name)
        return (file, name)
    }

    /// How many endings of names are kept.
    var endings: Int { names.count }

    /// The file just given out is still there: others go instead.
    mutating func couldNotDelete(_ file: HeldFile) { phase.couldNotDelete(file) }
}
