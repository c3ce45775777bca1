import DiskCache
import ImageModel
import Transcoder

/// What a stored file is by its first bytes; its name may say anything.
enum FileFormat {
    /// All that `name` can be.
    static let names = ImageFormat.allCases.map(\.name) + ["unknown", "unreadable"]

    /// `jpeg`, `png`, …; `unknown` for what is no picture Larder knows, `unreadable` for what cannot be read. Blocks.
    static func name(of entry: CacheEntry, in layout: CacheLayout) -> String { name(ofFile: entry.path, in: layout) }

    /// The same for a file by its name.
    static func name(ofFile name: String, in layout: CacheLayout) -> String {
        guard let file = try? layout.peek(name), let prefix = try? file.bytes(ImageFormat.recognisedBytes) else {
            return "unreadable"
        }
        return ImageFormat.recognise(prefix)?.name ?? "unknown"
    }
}
