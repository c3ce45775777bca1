import DiskCache
import ImageModel

/// The format of a stored file by its first bytes; its extension comes from the URL and may be wrong.
enum FileFormat {
    /// Every value of `name`.
    static let names = ImageFormat.allCases.map(\.name) + ["unknown", "unreadable"]

    /// `jpeg`, `png`, …, `unknown` for other contents, or `unreadable`. Blocks.
    static func name(ofFile name: String, in store: any ImageStore) -> String {
        guard let file = try? store.peek(named: name), let prefix = try? file.bytes(ImageFormat.recognisedBytes) else {
            return "unreadable"
        }
        return ImageFormat.recognise(prefix)?.name ?? "unknown"
    }
}
