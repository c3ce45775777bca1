import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports
import Terminal
import Transcoder

/// Writes one variant's files of a batch into an image table.
struct TableExport {
    struct Counts: Encodable {
        var stored = 0
        /// Images missing in the cache, changed since, or undecodable.
        var missing = 0
        /// Images of another size than the table's.
        var otherSize = 0
    }

    /// The table's properties except its size, which the first image determines.
    struct Shape {
        let root: String
        let namespace: String
        let name: String
        let scale: Int
        let style: ImageTableFormat.Style
        let pageSize: Int
        let maximum: Int
        let family: String?
        let devices: ImageTableFormat.Devices
        let protection: ImageTableFormat.Protection

        func format(width: Int, height: Int) throws -> ImageTableFormat {
            guard width % scale == 0, height % scale == 0 else {
                throw CommandError.usage(
                    "cache export: images of \(width) × \(height) pixels cannot be divided by --scale \(scale)")
            }
            return try ImageTableFormat(
                name: name, family: family, width: width / scale, height: height / scale, scale: scale, style: style,
                maximumCount: maximum, devices: devices, protection: protection, pageSize: pageSize)
        }
    }

    private struct Pixels {
        let width, height: Int
        let rgba: [UInt8]
    }

    let queue: PostgresJobQueue
    let place: CachePlace
    let pool: TranscoderPool
    /// Nil for the original.
    let variant: String?

    /// - Throws: errors of the table and the queue, and a `CommandError` for the first image's size.
    func write(_ batch: Int64, as shape: Shape) async throws -> Counts {
        var counts = Counts()
        var table: ImageTable?
        var seen: Set<[UInt8]> = []
        var progress = WalkProgress("jobs")
        defer { progress.end() }
        for try await record in BatchRecords(of: batch, in: queue) {
            progress.count()
            guard let file = record.stored.first(where: { $0.name == variant && $0.path != nil }),
                seen.insert(Array(file.key.utf8)).inserted
            else { continue }
            guard let image = try await pixels(of: file) else {
                counts.missing += 1
                continue
            }
            let target: ImageTable
            if let table {
                target = table
            } else {
                let format = try shape.format(width: image.width, height: image.height)
                target = try await place.disk.run { () throws(StoreError) in
                    try ImageTable(opening: shape.root, namespace: shape.namespace, format: format)
                }
                table = target
            }
            guard target.format.pixelWidth == image.width, target.format.pixelHeight == image.height else {
                counts.otherSize += 1
                Console.note(
                    "larder: \(image.width) × \(image.height) pixels, not the size of the table: "
                        + ShownURL.masked(file.key))
                continue
            }
            try await store(image, of: file, record, in: target)
            counts.stored += 1
        }
        if let table { try await place.disk.run { () throws(StoreError) in try table.flush() } }
        return counts
    }

    private func store(
        _ image: Pixels, of file: StoredFile, _ record: StoredRecord, in table: ImageTable
    ) async throws {
        let original = record.stored.first { $0.name == nil }
        let originalKey = CacheKey(original?.key ?? record.url)
        try await place.disk.run { [store = place.store] () throws(StoreError) in
            var state = original?.sha256
            if state == nil { state = try store.peek(originalKey)?.sha256() }
            try table.store(
                try table.format.pixels(fromRGBA: image.rgba), for: EntityID(CacheKey(file.key)),
                source: EntityID(source: originalKey, state: state ?? ""))
        }
    }

    /// Nil, with a note, if the file is missing, changed or undecodable.
    private func pixels(of recorded: StoredFile) async throws -> Pixels? {
        let found = try await place.disk.run { [store = place.store] () throws(StoreError) in
            try RecordedFile(recorded, in: store).noted(recorded.key)
        }
        guard let file = found else { return nil }
        let output = try OutputFile.scratch()
        let identity = try Variant(json: #"{"name":"pixels"}"#.utf8)
        var request = TranscodeRequest(
            source: file.descriptor, variants: [identity], outputs: [output.descriptor], options: .firstFrameOnly)
        request.wantsRawRGBA = true
        request.wantsDigest = false
        if let report = try? await pool.transcode(request), case .success(let made) = report.variants[0] {
            return Pixels(width: made.width, height: made.height, rgba: output.prefix(made.bytes))
        }
        Console.note("larder: is no image: \(ShownURL.masked(recorded.key))")
        return nil
    }
}
