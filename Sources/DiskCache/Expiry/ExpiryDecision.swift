/// Decides which files expire: too old ones, then the oldest of the rest until less than half the limit is occupied.
///
/// Files are added in any order. Once their size exceeds the limit, the oldest beyond half the limit are certain to be
/// deleted: `next` returns them at once, and only the newest that fit into half the limit are kept.
struct ExpiryDecision {
    /// How to treat a listed file.
    enum Verdict {
        /// Delete at once. Does not count towards the size, even if it cannot be deleted.
        case tooOld
        /// Too old, but must not be deleted.
        case spared
        /// Stays, unless `next` returns it later.
        case kept
    }

    /// A file that may be deleted for its size, in 32 bytes.
    struct File: Comparable, Sendable {
        let date: Timestamp
        fileprivate let packedName: PackedName
        private let blocks: UInt32

        /// Rounds `allocated` up to blocks of 512 bytes.
        fileprivate init(date: Timestamp, allocated: Int, name: PackedName) {
            self.date = date
            packedName = name
            blocks = UInt32(clamping: (allocated + 511) / 512)
        }

        var allocated: Int { Int(blocks) * 512 }

        /// By date, then by name, so that the order is total.
        static func < (left: File, right: File) -> Bool {
            left.date != right.date ? left.date < right.date : left.packedName < right.packedName
        }
    }

    private let expirationDate: Timestamp?
    /// 0 for no limit.
    private let limit: Int
    private var names = PackedName.Table()
    /// The files until the limit is exceeded, then empty.
    private var files: [File] = []
    /// The files once the limit is exceeded.
    private var heap: Heap<File>?
    /// Size of all added files.
    private var sum = 0
    /// Size of the files that `next` has not returned, or that could not be deleted.
    private var remaining = 0
    /// The newest file returned by `next`. Older ones must follow, or newer files would be deleted before older ones.
    private var newestReturned: File?

    init(_ policy: ExpiryPolicy, now: Timestamp) {
        expirationDate = policy.expirationDate(at: now)
        limit = max(0, policy.maxSize)
    }

    /// Adds the next file.
    ///
    /// - Parameters:
    ///   - date: nil if unknown: never too old, and deleted first for its size.
    ///   - isSpared: whether it must not be deleted.
    mutating func add(_ name: String, date: Timestamp?, allocated: Int, isSpared: Bool = false) -> Verdict {
        let isTooOld = if let date, let expirationDate { date <= expirationDate } else { false }
        if isTooOld && !isSpared { return .tooOld }
        guard limit > 0 else { return isTooOld ? .spared : .kept }
        var size = allocated
        if !isSpared {
            let file = File(
                date: date ?? Timestamp(nanoseconds: .min), allocated: allocated, name: names.pack(name))
            size = file.allocated
            if heap == nil { files.append(file) } else { heap?.insert(file) }
        }
        sum += size
        remaining += size
        if heap == nil && sum > limit {
            heap = Heap(files)
            files = []
        }
        return isTooOld ? .spared : .kept
    }

    /// The next file to delete for its size; nil if the files fit. Call it after every `add`.
    mutating func next() -> (file: File, name: String)? {
        guard let oldest = heap?.first else { return nil }
        guard remaining >= limit / 2 || newestReturned.map({ oldest < $0 }) ?? false else { return nil }
        newestReturned = newestReturned.map { max($0, oldest) } ?? oldest
        heap?.removeFirst()
        remaining -= oldest.allocated
        let name = names.text(oldest.packedName)
        names.release(oldest.packedName)
        return (oldest, name)
    }

    /// The file returned by `next` still exists, so others are deleted instead.
    mutating func couldNotDelete(_ file: File) { remaining += file.allocated }

    var extensionCount: Int { names.count }
}

/// A binary heap with the smallest element first.
struct Heap<Element: Comparable> {
    private var elements: [Element]

    init(_ elements: [Element]) {
        self.elements = elements
        for index in stride(from: elements.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
    }

    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() {
        let last = elements.removeLast()
        guard !elements.isEmpty else { return }
        elements[0] = last
        siftDown(from: 0)
    }

    private mutating func siftDown(from index: Int) {
        var parent = index
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < elements.count && elements[child] < elements[least] {
                least = child
            }
            guard least != parent else { return }
            elements.swapAt(parent, least)
            parent = least
        }
    }
}
