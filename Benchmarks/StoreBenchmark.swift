import DiskCache
import Glibc
import Measuring

extension Benchmark {
    /// One thread on purpose: what is compared is the price of a file, not how well the disk joins several waits.
    static let store = Benchmark(
        name: "store", question: "What does publishing a file cost beyond writing it, at each durability?"
    ) { options in
        let scratch = try Scratch(in: options.directory)
        let count = 2_000
        let bytes = (0..<20_000).map { _ in UInt8.random(in: 0...255) }
        var used = 0

        /// Writes into a directory of its own and removes that afterwards, unmeasured.
        func rate(_ write: (_ root: String) throws -> Void) async throws -> Double {
            used += 1
            let root = scratch.path + "/\(used)"
            guard mkdir(root, 0o755) == 0 else { throw MeasuringError("mkdir: errno \(errno)") }
            // What others left to be written is not to be waited for by the first fsync here.
            sync()
            defer { scratch.clear(root) }
            return try await ContinuousClock().rate(of: count) { try write(root) }
        }

        func published(_ durability: Durability) -> Rounds.Step {
            return {
                let rate = try await rate { root in
                    let cache = try DiskCache(opening: root, durability: durability)
                    for index in 0..<count {
                        try publish(bytes, as: CacheKey("https://images.example.com/\(index).jpg"), in: cache)
                    }
                }
                return ["store_\(durability.rawValue)": rate]
            }
        }

        let plain: Rounds.Step = {
            let rate = try await rate { root in
                let directory = root + "/default"
                guard mkdir(directory, 0o755) == 0 else { throw MeasuringError("mkdir: errno \(errno)") }
                for index in 0..<count { try plainWrite(bytes, to: "\(directory)/\(index).jpg") }
            }
            return ["plain_write": rate]
        }

        let rounds = try await Rounds(options.rounds, [plain] + Durability.allCases.map(published))
        return Findings(
            measurements: try rounds.measurements(
                Durability.allCases.map { Figure("store_\($0.rawValue)", "files/s", against: "plain_write") }
                    + [Figure("plain_write", "files/s")]),
            input: "\(count) files of \(bytes.count) bytes a round, one thread, \(scratch.fileSystem)")
    }
}

/// What a worker's store stage does for each file.
private func publish(_ bytes: [UInt8], as key: CacheKey, in cache: DiskCache) throws {
    let file = try cache.makeTemporaryFile()
    // A Result, as the compiler fails over a typed error that passes through here.
    try bytes.withUnsafeBytes { bytes in Result { () throws(StoreError) in try file.write(bytes) } }.get()
    try cache.publish(file, as: key)
}

/// Open, write, close.
private func plainWrite(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw MeasuringError("open: errno \(errno)") }
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw MeasuringError("write: errno \(errno)") }
}
