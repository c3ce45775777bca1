import CommandLine
import Concurrency
import DiskCache
import ImageModel
import Lists
import Reports
import Terminal
import Transcoder

/// Checks every file of a cache, and prints and counts the faults.
struct CacheVerification {
    struct Counts: Encodable {
        fileprivate(set) var files = 0, listed = 0, decoded = 0, skipped = 0, unknown = 0, faults = 0, removed = 0

        var text: String {
            "\(files) files, \(listed) in the manifest, \(decoded) decoded, \(skipped) of a format that is not decoded, "
                + "\(unknown) of unknown format: "
                + (faults == 0 ? "no fault" : "\(faults) faults, \(removed) files removed")
        }
    }

    private enum Finding: Sendable {
        case decoded
        case skipped
        /// Not a known or configured format, which proves no fault.
        case unknown
        case fault(FileFault, String)
    }

    let place: CachePlace
    let arguments: Arguments
    let limits: TranscodeLimits
    let removes: Bool
    private(set) var counts = Counts()
    /// Faulty files, so that each is reported once.
    private var faulty: Set<String> = []

    init(place: CachePlace, arguments: Arguments, limits: TranscodeLimits, removes: Bool) {
        self.place = place
        self.arguments = arguments
        self.limits = limits
        self.removes = removes
    }

    /// Compares files with a manifest.
    mutating func compare(with manifest: String) async throws {
        var reader = try LineReader(manifest)
        var progress = WalkProgress("files compared", of: try await Self.countLines(of: manifest))
        while let line = try await reader.next() {
            let entry = try ManifestEntry(line: line, of: manifest, naming: place.store.naming)
            counts.listed += 1
            let found: FileFault?
            do {
                found = try await place.disk.run { [store = place.store] in try store.fault(of: entry) }
            } catch {
                try await report(entry.file, FileFault(reading: error), "\(error)")
                continue
            }
            if let found { try await report(entry.file, found, nil) }
            progress.count()
        }
        progress.end()
    }

    /// Nil for standard input, which can be read only once.
    private static func countLines(of manifest: String) async throws -> Int? {
        guard manifest != "-" else { return nil }
        var reader = try LineReader(manifest)
        var count = 0
        while try await reader.next() != nil { count += 1 }
        return count
    }

    /// Checks every file without decoding it.
    mutating func checkAll() async throws {
        let files = EntryStream(place)
        for try await entry in files.entries {
            files.taken()
            try await check(entry)
        }
    }

    /// Decodes every file, one more at a time than there are transcoders.
    mutating func decodeAll(_ pool: TranscoderPool) async throws {
        let files = EntryStream(place)
        var progress = WalkProgress("files decoded", of: await place.total(isSlow: true))
        try await withThrowingTaskGroup(of: (CacheEntry, Finding).self) { group in
            var running = 0
            for try await entry in files.entries {
                files.taken()
                guard try await check(entry) else { continue }
                if running == pool.count + 1, let (entry, finding) = try await group.next() {
                    running -= 1
                    try await count(entry, finding)
                    progress.count()
                }
                running += 1
                group.addTask { [place, limits] in (entry, await Self.decode(entry, place, pool, limits)) }
            }
            for try await (entry, finding) in group {
                try await count(entry, finding)
                progress.count()
            }
        }
        progress.end()
    }

    /// Whether a file can be decoded.
    @discardableResult
    private mutating func check(_ entry: CacheEntry) async throws -> Bool {
        counts.files += 1
        if faulty.contains(entry.path) { return false }
        guard place.store.naming.isFileName(entry.path) else {
            try await report(entry.path, .name, nil)
            return false
        }
        guard entry.size > 0 else {
            try await report(entry.path, .empty, nil)
            return false
        }
        return true
    }

    private static func decode(
        _ entry: CacheEntry, _ place: CachePlace, _ pool: TranscoderPool, _ limits: TranscodeLimits
    ) async -> Finding {
        do {
            let found = try await place.disk.run { [store = place.store] in
                try store.peek(named: entry.path).map { ($0, try $0.bytes(ImageFormat.recognisedBytes)) }
            }
            // Expired or replaced since it was listed.
            guard let (file, prefix) = found else { return .skipped }
            if limits.coder(of: prefix) == nil {
                guard let format = ImageFormat.recognise(prefix) else { return .unknown }
                guard limits.formats.contains(format) else { return .skipped }
            }
            _ = try await pool.transcode(TranscodeRequest(source: file.descriptor, variants: [], outputs: []))
            return .decoded
        } catch let error as TranscodeError {
            // A file that exceeds a limit may be intact.
            return error.code == .undecodable ? .fault(.undecodable, error.message) : .skipped
        } catch {
            return .fault(FileFault(reading: error), "\(error)")
        }
    }

    private mutating func count(_ entry: CacheEntry, _ finding: Finding) async throws {
        switch finding {
        case .decoded: counts.decoded += 1
        case .skipped: counts.skipped += 1
        case .unknown: counts.unknown += 1
        case .fault(let fault, let message): try await report(entry.path, fault, message)
        }
    }

    private mutating func report(_ file: String, _ fault: FileFault, _ message: String?) async throws {
        counts.faults += 1
        faulty.insert(file)
        let line: JSONObject = ["file": file, "fault": fault.rawValue, "message": message]
        try Console.show(
            line, arguments, "\(file)\t\(fault.rawValue)" + (message.map { "\t" + $0 } ?? ""))
        // A file with another name is not the cache's, and an unreadable one may be intact.
        guard removes, fault.isOfContents else { return }
        _ = try await place.disk.run { [store = place.store] in try store.remove(named: file) }
        counts.removed += 1
    }
}

/// A cache's files as a stream, listed on a separate thread at most 1000 files ahead of the reader.
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

    /// Must be called for each entry read.
    func taken() { room.change { $0.files += 1 } }
}
