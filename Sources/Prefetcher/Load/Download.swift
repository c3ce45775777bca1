internal import DiskCache
internal import Downloader
internal import FoundationEssentials
private import ImageModel

enum Fetched: Sendable {
    case new(Download)
    /// The cached original is current.
    case unchanged
}

/// A downloaded original that is not committed yet.
struct Download: Sendable {
    let file: TemporaryFile
    /// The length is the file's; the digest is empty if the file was decrypted.
    var response: FetchResponse
    /// Of the received body.
    let validators: Validators
}

extension TemporaryFile {
    /// Writes the result of `transform` into `target`. Blocks.
    ///
    /// - Returns: the bytes written; nil if `transform` returned none.
    func transform(into target: TemporaryFile, _ url: String, _ transform: DataTransform) throws(LoadError) -> Data? {
        guard let made = transform(Data(try storing(try bytes())), url), !made.isEmpty else { return nil }
        let result = made.withUnsafeBytes { bytes in Result { () throws(StoreError) in try target.write(bytes) } }
        try storing(try result.get())
        return made
    }
}

/// Validators of a cached original, stored in an extended attribute of its file.
///
/// Replaces SDWebImage's URL cache, which Linux does not have.
extension Validators {
    private static let attribute = "larder.validators"

    /// Validators of a cached original; only the digest if another program stored the file. Blocks.
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
    /// Lost if the file system has no room for them: ext4 has 4 kB for all attributes of a file.
    func save(to file: TemporaryFile) { try? file.setAttribute(Self.attribute, encoded) }

    /// Saves them with a cached original, with the same restriction. Blocks.
    func save(to file: OpenFile) { file.setAttribute(Self.attribute, encoded) }

    private var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }
}
