/// Decides which files go because all together take too much room: the oldest, until less than half the limit is left.
///
/// Files come in any order. Once their sum has passed the limit it is certain that the oldest beyond half of it go,
/// whatever comes later: they are given out at once, and only the newest that fit into half the limit are held.
/// A value: it looks at no file and knows no time.
struct SizePhase {
    private let limit: Int
    private let target: Int
    private var files: [HeldFile] = []
    /// Everything that was added.
    private var sum = 0
    /// Of that, what is not given out yet, and what could not be deleted.
    private var left = 0
    /// From then on `files` is a heap, the oldest first.
    private var isOver = false
    /// The newest that was given out: what is older goes as well, or younger files would have gone before older ones.
    private var edge: HeldFile?

    /// - Parameter limit: in bytes; 0 or less means that nothing goes.
    init(limit: Int) {
        self.limit = limit
        target = limit / 2
    }

    /// A file that survived its age. Nothing is held where there is no limit.
    mutating func add(_ file: HeldFile) {
        guard limit > 0 else { return }
        count(file.allocated)
        files.append(file)
        if isOver {
            rise()
        } else if sum > limit {
            isOver = true
            heapify()
        }
    }

    /// A file that takes room and must not go.
    mutating func addProtected(allocated: Int) {
        guard limit > 0 else { return }
        count(allocated)
        if !isOver && sum > limit {
            isOver = true
            heapify()
        }
    }

    /// The next file to delete; nil when, for what is known by now, enough is gone.
    mutating func next() -> HeldFile? {
        guard isOver, let oldest = files.first else { return nil }
        guard left >= target || edge.map({ oldest < $0 }) ?? false else { return nil }
        edge = edge.map { max($0, oldest) } ?? oldest
        let last = files.removeLast()
        if !files.isEmpty {
            files[0] = last
            sink(from: 0)
        }
        left -= oldest.allocated
        return oldest
    }

    /// The file just given out is still there: others go instead.
    mutating func couldNotDelete(_ file: HeldFile) { left += file.allocated }

    private mutating func count(_ allocated: Int) {
        sum += allocated
        left += allocated
    }

    // MARK: - Heap

    private mutating func heapify() {
        for index in stride(from: files.count / 2 - 1, through: 0, by: -1) { sink(from: index) }
    }

    private mutating func rise() {
        var child = files.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard files[child] < files[parent] else { return }
            files.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func sink(from index: Int) {
        var parent = index
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < files.count && files[child] < files[least] {
                least = child
            }
            guard least != parent else { return }
            files.swapAt(parent, least)
            parent = least
        }
    }
}

/// A file that may have to go, in 32 bytes.
struct HeldFile: Comparable, Sendable {
    let date: Timestamp
    let name: PackedName
    private let blocks: UInt32

    /// `allocated` counts in whole blocks of 512 bytes.
    init(date: Timestamp, allocated: Int, name: PackedName) {
        self.date = date
        self.name = name
        blocks = UInt32(clamping: (allocated + 511) / 512)
    }

    var allocated: Int { Int(blocks) * 512 }

    /// Older comes first; of the same date any order does, as long as it is always the same.
    static func < (left: HeldFile, right: HeldFile) -> Bool {
        left.date != right.date ? left.date < right.date : left.name < right.name
    }
}
