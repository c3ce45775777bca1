import Concurrency
import DiskCache
import ImageModel
import Transcoder

extension Command {
    static let cacheVerify = Command(
        words: ["cache", "verify"], operands: "",
        summary: "Check that the files of the cache are whole",
        discussion: """
            Every file is decoded by a transcoder; with a manifest (--manifest, else manifest.jsonl in the cache root, as a
            bundle has it) each file that stands in it is compared by name, length and SHA-256 first. One line for each fault
            {"file":...,"fault":"missing|empty|length|digest|name|unreadable|undecodable","message":...}, then the counts. The
            exit code is 1 when there is a fault. Reading here is no access that expiry would count.
            """,
        options: CachePlace.options + Limits.transcodeOptions + [
            Option("manifest", .value("FILE"), "compare with this manifest"),
            Option("no-decode", "do not decode the files"),
            Option("remove", "delete faulty files, so that they are fetched again"),
            Option("dry-run", "with --remove: delete nothing"),
        ]
    ) { arguments in
        let place = try CachePlace(ofExisting: arguments)
        let pool = arguments.flag("no-decode") ? nil : TranscoderPool(configuration: try Limits.transcoders(arguments))
        var verification = CacheVerification(
            place: place, isJSON: arguments.flag("json"), pool: pool, formats: try Limits.formats(arguments),
            removes: arguments.flag("remove") && !arguments.flag("dry-run"))
        let manifest = try arguments.value("manifest") ?? place.layout.ownManifest
        if let manifest { try await verification.compare(with: manifest) }
        if let pool {
            try await verification.decodeAll()
            await pool.shutdown()
        } else if manifest == nil {
            try await verification.lookAtAll()
        }
        try verification.tellCounts()
        return verification.faults == 0 ? .done : .failed
    }
}

/// The look at every file, and what was found.
private struct CacheVerification {
    private struct FaultLine: Encodable {
        let file: String
        let fault: FileFault
        let message: String?
    }

    private struct CountLine: Encodable {
        let files, listed, decoded, skipped, faults, removed: Int
    }

    let place: CachePlace
    let isJSON: Bool
    let pool: TranscoderPool?
    let formats: Set<ImageFormat>
    let removes: Bool
    private(set) var faults = 0
    private var listed = 0
    private var files = 0
    private var decoded = 0
    private var skipped = 0
    private var removed = 0
    /// Files of which a fault was told already.
    private var told: Set<String> = []

    init(place: CachePlace, isJSON: Bool, pool: TranscoderPool?, formats: Set<ImageFormat>, removes: Bool) {
        self.place = place
        self.isJSON = isJSON
        self.pool = pool
        self.formats = formats
        self.removes = removes
    }

    // MARK: - Stages

    mutating func compare(with manifest: String) async throws {
        var reader = try LineReader(manifest)
        var progress = WalkProgress("files compared", of: try await Self.lines(of: manifest))
        while let line = try await reader.next() {
            let entry = try ManifestEntry(line: line, of: manifest)
            listed += 1
            let found: FileFault?
            do {
                found = try await place.disk.run { [layout = place.layout] in try entry.fault(in: layout) }
            } catch {
                try await tell(entry.file, .unreadable, "\(error)")
                continue
            }
            if let found { try await tell(entry.file, found, nil) }
            progress.count()
        }
        progress.end()
    }

    /// How many files stand in a manifest; nil when it can be read only once.
    private static func lines(of manifest: String) async throws -> Int? {
        guard manifest != "-" else { return nil }
        var reader = try LineReader(manifest)
        var count = 0
        while try await reader.next() != nil { count += 1 }
        return count
    }

    mutating func lookAtAll() async throws {
        let walk = EntryStream(place)
        for try await entry in walk.entries {
            walk.taken()
            files += 1
            try await lookAt(entry)
        }
    }

    mutating func decodeAll() async throws {
        guard let pool else { return }
        let walk = EntryStream(place)
        var progress = WalkProgress("files decoded", of: await place.total(isSlow: true))
        try await withThrowingTaskGroup(of: (CacheEntry, Finding).self) { group in
            var running = 0
            for try await entry in walk.entries {
                walk.taken()
                files += 1
                guard try await lookAt(entry) else { continue }
                if running == pool.count + 1, let (entry, finding) = try await group.next() {
                    running -= 1
                    try await take(entry, finding)
                    progress.count()
                }
                running += 1
                group.addTask { [place, formats] in (entry, await Self.decode(entry, place, pool, formats)) }
            }
            for try await (entry, finding) in group {
                try await take(entry, finding)
                progress.count()
            }
        }
        progress.end()
    }

    func tellCounts() throws {
        let line = CountLine(
            files: files, listed: listed, decoded: decoded, skipped: skipped, faults: faults, removed: removed)
        if isJSON { return try Console.json(line) }
        Console.line(
            "\(files) files, \(listed) in the manifest, \(decoded) decoded, \(skipped) of a format that is not decoded: "
                + (faults == 0 ? "no fault" : "\(faults) faults, \(removed) files removed"))
    }

    // MARK: - One file

    private enum Finding: Sendable {
        case decoded
        case skipped
        case fault(FileFault, String)
    }

    /// Whether the file is worth decoding.
    @discardableResult
    private mutating func lookAt(_ entry: CacheEntry) async throws -> Bool {
        if told.contains(entry.path) { return false }
        // A stray file is no picture of the cache's, whatever is in it.
        guard entry.hasRegularName else {
            try await tell(entry.path, .name, nil)
            return false
        }
        guard entry.size > 0 else {
            try await tell(entry.path, .empty, nil)
            return false
        }
        return true
    }

    private static func decode(
        _ entry: CacheEntry, _ place: CachePlace, _ pool: TranscoderPool, _ formats: Set<ImageFormat>
    ) async -> Finding {
        do {
            let found = try await place.disk.run { [layout = place.layout] in
                try layout.peek(entry.path).map {
                    ($0, ImageFormat.recognise(try $0.bytes(ImageFormat.recognisedBytes)))
                }
            }
            // Gone meanwhile: expired, or replaced by a store that looks after itself.
            guard let (file, format) = found else { return .skipped }
            guard let format else { return .fault(.undecodable, "the file is no known image") }
            guard formats.contains(format) else { return .skipped }
            _ = try await pool.transcode(TranscodeRequest(source: file.descriptor, variants: [], outputs: []))
            return .decoded
        } catch let error as TranscodeError {
            // What a limit refuses is not broken.
            return error.code == .undecodable ? .fault(.undecodable, error.message) : .skipped
        } catch {
            return .fault(.unreadable, "\(error)")
        }
    }

    private mutating func take(_ entry: CacheEntry, _ finding: Finding) async throws {
        switch finding {
        case .decoded: decoded += 1
        case .skipped: skipped += 1
        case .fault(let fault, let message): try await tell(entry.path, fault, message)
        }
    }

    private mutating func tell(_ file: String, _ fault: FileFault, _ message: String?) async throws {
        faults += 1
        told.insert(file)
        if isJSON {
            try Console.json(FaultLine(file: file, fault: fault, message: message))
        } else {
            Console.line("\(file)\t\(fault.rawValue)" + (message.map { "\t" + $0 } ?? ""))
        }
        // A stray file is no fault of a picture's.
        guard removes, fault != .missing, fault != .name else { return }
        try await place.disk.run { [layout = place.layout] in try layout.removeFile(named: file) }
        removed += 1
    }
}
