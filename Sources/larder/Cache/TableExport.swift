import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Transcoder

/// Writes what a batch stored of one variant into an image table, its pixels made by a transcoder.
struct TableExport {
    /// What was done.
    struct Counts: Encodable {
        /// Pictures that are in the table now.
        var stored = 0
        /// The cache has them no longer, or they do not decode.
        var missing = 0
        /// They have another size than the table.
        var otherSize = 0
    }

    let queue: PostgresJobQueue
    let place: CachePlace
    let pool: TranscoderPool
    /// The variant's name; nil is the original.
    let variant: String?

    /// The table, with everything but its size, which is that of the first picture.
    struct Shape {
        let root: String
        let namespace: String
        let name: String
        let scale: Int
        let style: ImageTableFormat.Style
        let pageSize: Int
        let maximum: Int

        func format(width: Int, height: Int) throws -> ImageTableFormat {
            guard width % scale == 0, height % scale == 0 else {
                throw CommandError.usage(
                    "cache table: pictures of \(width) × \(height) pixels have no whole size at --scale \(scale)")
            }
            return try ImageTableFormat(
                name: name, width: width / scale, height: height / scale, scale: scale, style: style,
                maximumCount: maximum, pageSize: pageSize)
        }
    }

    /// Goes through a batch, a page of records at a time.
    ///
    /// - Throws: what the table or the queue throws; of the first picture also what is wrong with its size.
    func write(_ batch: Int64, as shape: Shape) async throws -> Counts {
        var counts = Counts()
        var table: ImageTable?
        var seen: Set<String> = []
        var cursor = Cursor.start
        var progress = WalkProgress("jobs")
        defer { progress.end() }
        while true {
            let records = try await queue.records(of: batch, after: cursor)
            guard let last = records.last else { break }
            cursor = last.cursor
            for record in records {
                progress.count()
                guard let file = record.stored.first(where: { $0.name == variant && $0.path != nil }),
                    seen.insert(CacheKey(file.key).fileName).inserted
                else { continue }
                let key = CacheKey(file.key)
                guard let picture = try await pixels(of: key) else {
                    counts.missing += 1
                    Console.note("larder: not in the cache, or no picture: \(ShownURL.text(file.key))")
                    continue
                }
                let target: ImageTable
                if let table {
                    target = table
                } else {
                    let format = try shape.format(width: picture.width, height: picture.height)
                    target = try await place.disk.run { () throws(StoreError) in
                        try ImageTable(opening: shape.root, namespace: shape.namespace, format: format)
                    }
                    table = target
                }
                guard target.format.pixelWidth == picture.width, target.format.pixelHeight == picture.height else {
                    counts.otherSize += 1
                    Console.note(
                        "larder: \(picture.width) × \(picture.height) pixels, not those of the table: "
                            + ShownURL.text(file.key))
                    continue
                }
                let original = record.stored.first { $0.name == nil }
                try await place.disk.run { [layout = place.layout] () throws(StoreError) in
                    var state = original?.sha256
                    if state == nil { state = try layout.peek(CacheKey(record.url).fileName)?.sha256() }
                    try target.store(
                        try target.format.pixels(fromRGBA: picture.rgba), for: EntityID(key),
                        source: EntityID(source: CacheKey(original?.key ?? record.url), state: state ?? ""))
                }
                counts.stored += 1
            }
        }
        if let table { try await place.disk.run { () throws(StoreError) in try table.flush() } }
        return counts
    }

    private struct PlainPicture {
        let width, height: Int
        let rgba: [UInt8]
    }

    /// Nil when there is no such file, or no picture in it.
    private func pixels(of key: CacheKey) async throws -> PlainPicture? {
        guard
            let file = try await place.disk.run({ [layout = place.layout] () throws(StoreError) in
                try layout.peek(key.fileName)
            })
        else { return nil }
        let output = try OutputFile.scratch()
        let whole = try Variant(json: #"{"name":"pixels"}"#.utf8)
        var request = TranscodeRequest(
            source: file.descriptor, variants: [whole], outputs: [output.descriptor], transformsAnimated: true)
        request.wantsRawRGBA = true
        request.wantsDigest = false
        do throws(TranscodeError) {
            guard case .success(let made) = try await pool.transcode(request).variants[0] else { return nil }
            return PlainPicture(width: made.width, height: made.height, rgba: output.prefix(made.bytes))
        } catch {
            return nil
        }
    }
}
