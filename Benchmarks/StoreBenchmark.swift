import Concurrency
import DiskCache
import Glibc
import Measuring

extension Benchmark {
    /// One thread, so that the cost of a file is compared and not how the disk combines several waits.
    static let store = Benchmark(
        name: "store",
        question: "What does publishing a file cost beyond the kernel's own open, write and rename, at each durability?"
    ) { options in
        let scratch = try Scratch(in: options.directory)
        let count = 500
        let bytes = (0..<20_000).map { _ in UInt8.random(in: 0...255) }
        var used = 0

        /// Alternates between a hundred stores and a hundred bare writes, so that other load affects both equally.
        func published(_ durability: Durability) -> Rounds.Step {
            return {
                used += 1
                let root = scratch.path + "/\(used)"
                let bare = root + "/bare"
                guard mkdir(root, 0o755) == 0, mkdir(bare, 0o755) == 0 else {
                    throw MeasuringError("mkdir: errno \(errno)")
                }
                // Otherwise the first fsync waits for data of other processes.
                sync()
                defer { scratch.clear(root) }
                let cache = try DirectoryStore(opening: root, durability: durability)
                var storing = Cost()
                var writing = Cost()
                for start in stride(from: 0, to: count, by: 100) {
                    try storing.add {
                        for index in start..<(start + 100) {
                            try publish(bytes, as: CacheKey("https://images.example.com/\(index).jpg"), in: cache)
                        }
                    }
                    try writing.add {
                        for index in start..<(start + 100) { try bareWrite(bytes, number: index, in: bare, durability) }
                    }
                }
                let name = durability.rawValue
                return [
                    "store_\(name)": Double(count) / storing.clock, "bare_\(name)": Double(count) / writing.clock,
                    "cpu_store_\(name)": storing.processor / Double(count) * 1e6,
                    "cpu_bare_\(name)": writing.processor / Double(count) * 1e6,
                ]
            }
        }

        let rounds = try await Rounds(options.rounds, Durability.allCases.map(published))
        let figures = Durability.allCases.map(\.rawValue).flatMap { name in
            [
                Figure("cpu_store_\(name)", "us/file", against: "cpu_bare_\(name)"),
                Figure("cpu_bare_\(name)", "us/file"),
                Figure("store_\(name)", "files/s", against: "bare_\(name)"), Figure("bare_\(name)", "files/s"),
            ]
        }
        return Findings(
            measurements: try rounds.measurements(figures),
            input: "\(count) files of \(bytes.count) bytes a round and a hundred in turn, one thread, "
                + "\(scratch.fileSystem); cpu is user and system time, bare the same system calls only")
    }
}

/// Wall time and processor time in seconds.
private struct Cost {
    private(set) var clock = 0.0
    private(set) var processor = 0.0

    mutating func add(_ work: () throws -> Void) rethrows {
        let start = ContinuousClock.now
        let before = processorSeconds
        try work()
        processor += processorSeconds - before
        clock += (ContinuousClock.now - start).seconds
    }
}

/// The store stage of a worker for one file.
private func publish(_ bytes: [UInt8], as key: CacheKey, in cache: DirectoryStore) throws {
    try cache.store(bytes, as: key)
}

/// Open, write, synchronise, close and rename without any other work.
private func bareWrite(_ bytes: [UInt8], number: Int, in directory: String, _ durability: Durability) throws {
    let temporary = "\(directory)/.\(number)"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw MeasuringError("open: errno \(errno)") }
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw MeasuringError("write: errno \(errno)") }
    switch durability {
    case .none: break
    case .data: guard fdatasync(descriptor) == 0 else { throw MeasuringError("fdatasync: errno \(errno)") }
    case .full: guard fsync(descriptor) == 0 else { throw MeasuringError("fsync: errno \(errno)") }
    }
    guard rename(temporary, "\(directory)/\(number).jpg") == 0 else { throw MeasuringError("rename: errno \(errno)") }
    guard durability == .full else { return }
    let place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard place >= 0 else { throw MeasuringError("open: errno \(errno)") }
    defer { close(place) }
    guard fsync(place) == 0 else { throw MeasuringError("fsync: errno \(errno)") }
}
