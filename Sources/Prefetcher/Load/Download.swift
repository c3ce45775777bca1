internal import DiskCache
internal import Downloader
internal import FoundationEssentials
private import ImageModel

/// The answer of a source to a load.
enum Fetched: Sendable {
    case new(Download)
    /// The bytes of the cached original.
    case unchanged
}

/// An original that was fetched and is not committed.
struct Download: Sendable {
    let file: TemporaryFile
    /// Its length is the file's; the digest is empty when the file was decrypted.
    var response: FetchResponse
    /// Of the body as received.
    let validators: Validators
}

extension TemporaryFile {
    /// Writes the bytes that `transform` makes of this file's into `target`. Blocks.
    ///
    /// - Returns: the bytes written; nil when `transform` returned none.
    func transform(into target: TemporaryFile, _ url: String, _ transform: DataTransform) throws(LoadError) -> Data? {
        guard let made = transform(Data(try storing(try bytes())), url), !made.isEmpty else { return nil }
        let result = made.withUnsafeBytes { bytes in Result { () throws(StoreError) in try target.write(bytes) } }
        try storing(try result.get())
        return made
    }
}

/// The validators of a cached original, in an extended attribute of its file.
///
/// Replaces SDWebImage's URL cache, which Linux does not have.
extension Validators {
    private static let attribute = "larder.validators"

    /// The validators of a cached original; only the digest for a file that another program stored. Blocks.
    init(of file: OpenFile) throws(StoreError) {
        if let bytes = try file.attribute(Self.attribute),
            let saved = try? JSONDecoder().decode(Validators.self, from: Data(bytes))
        {
            self = saved
        } else {
            self.init(sha256: SHA256Digest.hex(ofFile: file.descriptor))
        }
    }

    /// Saves them with a file to be committed. Blocks.
    ///
    /// File systems without room for them lose them: ext4 has 4 kB for all attributes of a file.
    func save(to file: TemporaryFile) { try? file.setAttribute(Self.attribute, encoded) }

    /// Saves them with a cached original, with the same restriction. Blocks.
    func save(to file: OpenFile) { file.setAttribute(Self.attribute, encoded) }

    private var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }
}
