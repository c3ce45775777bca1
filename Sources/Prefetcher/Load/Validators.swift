internal import DiskCache
internal import Downloader
private import Foundation

/// What tells whether a cached original is still what its server has; kept with the file, as an extended attribute.
///
/// Takes the place of SDWebImage's URL cache, which Linux has not (spec 3.11 of SDWebImage 5.21.5).
public struct Validators: Sendable, Equatable, Codable {
    /// The answer's `ETag`.
    public var etag: String?
    /// The answer's `Last-Modified`.
    public var lastModified: String?
    /// SHA-256 of the body as it was downloaded, 64 hexadecimal digits.
    public var sha256: String?

    /// Validators at hand.
    public init(etag: String? = nil, lastModified: String? = nil, sha256: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.sha256 = sha256
    }

    private static let attribute = "larder.validators"

    /// Those of a cached original. One without, from an app perhaps, is known by its digest alone. Blocks.
    init(of file: OpenFile) throws(StoreError) {
        if let bytes = try file.attribute(Self.attribute),
            let known = try? JSONDecoder().decode(Validators.self, from: Data(bytes))
        {
            self = known
        } else {
            self.init(sha256: SHA256Digest.hex(ofFile: file.descriptor))
        }
    }

    /// Keeps them with an original that is to be published, as far as its file system lets it: without them it is known by
    /// its digest, and ext4 for one keeps no more than 4 kB of attributes. Blocks.
    func keep(with file: TemporaryFile) {
        if let bytes = try? JSONEncoder().encode(self) { try? file.setAttribute(Self.attribute, Array(bytes)) }
    }

    /// Notes them at an original that is cached already, as far as its file system lets it. Blocks.
    func note(at file: OpenFile) {
        if let bytes = try? JSONEncoder().encode(self) { file.setAttribute(Self.attribute, Array(bytes)) }
    }
}
