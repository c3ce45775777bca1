internal import DiskCache
internal import Downloader
private import FoundationEssentials
private import ImageModel

/// An object's data other than its bytes: content type, digest, and its file's attributes.
struct ObjectMetadata: Sendable {
    /// The stored attributes and their metadata names.
    private static let attributes = [
        ("larder.validators", "larder-validators"), (extendedDataAttribute, "sdwebimage-extended-data"),
    ]
    /// The API's limit for all metadata of an object.
    private static let maximumBytes = 2048
    private static let digestName = "sha256"

    /// 64 hexadecimal digits; nil for an object stored by another program.
    let sha256: String?
    private var values: [String: String]

    /// Reads a file's attributes. Blocks.
    ///
    /// - Throws: `tooLarge` for extended data that does not fit; omits validators that do not fit.
    init(of file: TemporaryFile, sha256: String) throws(StoreError) {
        self.sha256 = sha256
        values = [Self.digestName: sha256]
        for (attribute, name) in Self.attributes {
            guard let bytes = file.attribute(attribute) else { continue }
            let text = Data(bytes).base64EncodedString()
            let used = values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            if used + name.utf8.count + text.utf8.count <= Self.maximumBytes {
                values[name] = text
            } else if attribute == extendedDataAttribute {
                throw StoreError(.tooLarge, "store extended data of \(bytes.count) bytes with", file.path)
            }
        }
    }

    init(_ head: ObjectHead) {
        sha256 = head.metadata[Self.digestName]
        values = head.metadata
    }

    /// The headers of an upload.
    func headers(contentType: String, cacheControl: String?) -> [HeaderField] {
        let own = values.sorted { $0.key < $1.key }.map { HeaderField("x-amz-meta-" + $0.key, $0.value) }
        return [HeaderField("Content-Type", contentType)] + own
            + (cacheControl.map { [HeaderField("Cache-Control", $0)] } ?? [])
    }

    /// Sets a downloaded file's attributes; lost if the file system has no room for them. Blocks.
    func restore(to file: OpenFile) {
        for (attribute, name) in Self.attributes {
            guard let text = values[name], let bytes = Data(base64Encoded: text) else { continue }
            file.setAttribute(attribute, Array(bytes))
        }
    }
}
