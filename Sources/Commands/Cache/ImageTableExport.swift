import CommandLine
import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports
import Terminal
import Transcoder

/// Image tables for FastImageCache, for `cache export --as fastimagecache`.
enum ImageTableExport {
    static let options =
        Limits.transcodeOptions + [
            Option("variant", .value("NAME"), "with --as: the variant by its name; default: the original"),
            Option("table", .value("NAME"), "the table's name; default: the variant's, or 'original'"),
            Option("table-namespace", .value("NAME"), "FastImageCache's namespace, default FICDefaultNamespace"),
            Option("scale", .value("N"), "pixels per point, 1 to 4, default 1"),
            Option("style", .value("STYLE"), "bgra32 (default), bgr32, rgb16 or grey8"),
            Option("page-size", .value("BYTES"), "of the device that reads the table: 16384 (default) or 4096"),
            Option("maximum", .value("N"), "the maximum number of images; default: all of the batch"),
            Option("family", .value("NAME"), "the format's family in the app; default: none"),
            Option("devices", .value("DEVICES"), "phone, pad or all (default)"),
            Option("protection", .value("MODE"), "none (default), complete or untilFirstUnlock"),
        ]

    /// Writes one variant's files of a batch and prints the counts.
    static func write(_ arguments: Arguments) async throws -> ExitCode {
        guard let name = try arguments.value("batch") else { throw CommandError.usage("cache export needs --batch") }
        guard let root = try arguments.value("output") else { throw CommandError.usage("cache export needs --output") }
        let place = try CachePlace(ofExisting: arguments)
        let word = try arguments.choice("style", of: ImageTableFormat.Style.allCases.map { "\($0)" })
        let style = ImageTableFormat.Style.allCases.first { "\($0)" == word } ?? .bgra32
        let devices: [String: ImageTableFormat.Devices] = ["phone": .phone, "pad": .pad, "all": .all]
        let device = try arguments.choice("devices", of: ["phone", "pad", "all"]) ?? "all"
        let mode = try arguments.choice("protection", of: ImageTableFormat.Protection.allCases.map { "\($0)" })
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.reports.progress(of: try await queue.batch(called: name))
        let variant = try arguments.value("variant")
        let shape = TableExport.Shape(
            root: root, namespace: try arguments.value("table-namespace") ?? "FICDefaultNamespace",
            name: try arguments.value("table") ?? variant ?? "original",
            scale: try arguments.number("scale", in: 1...4) ?? 1,
            style: style, pageSize: try arguments.number("page-size", in: 4096...16_384) ?? 16_384,
            maximum: try arguments.number("maximum", in: 1...1_000_000) ?? max(1, batch.total),
            family: try arguments.value("family"), devices: devices[device] ?? .all,
            protection: ImageTableFormat.Protection.allCases.first { "\($0)" == mode } ?? .none)
        let pool = TranscoderPool(configuration: try Limits.transcoders(arguments))
        let export = TableExport(queue: queue, place: place, pool: pool, variant: variant)
        let counts = try await finally(pool.shutdown) { try await export.write(batch.id, as: shape) }
        guard counts.stored + counts.missing + counts.otherSize > 0 else {
            throw CommandError.larder(
                .file, "batch \(name) has stored nothing as \(variant.map { "variant \($0)" } ?? "original")")
        }
        let table = "\(root)/ImageTables/\(shape.namespace)/\(shape.name).imageTable"
        try Console.show(
            [
                "table": table, "stored": counts.stored, "missing": counts.missing, "otherSize": counts.otherSize,
            ], arguments,
            "\(counts.stored) images in \(table)"
                + (counts.otherSize > 0 ? "; \(counts.otherSize) of another size" : "")
                + (counts.missing > 0 ? "; \(counts.missing) no longer in the cache or changed" : ""))
        return counts.stored > 0 && counts.missing + counts.otherSize == 0 ? .done : .failed
    }
}
