internal import DiskCache
private import Foundation
private import Glibc

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
            self.init(sha256: Self.digest(of: file.descriptor))
        }
    }

    /// Keeps them with an original that is to be published. Blocks.
    func keep(with file: TemporaryFile) throws(StoreError) {
        if let bytes = try? JSONEncoder().encode(self) { try file.setAttribute(Self.attribute, Array(bytes)) }
    }

    /// Notes them at an original that is cached already, as far as its file system lets it. Blocks.
    func note(at file: OpenFile) {
        if let bytes = try? JSONEncoder().encode(self) { file.setAttribute(Self.attribute, Array(bytes)) }
    }

    /// SHA-256 of a file's bytes, 64 digits; nil when they cannot be read.
    private static func digest(of file: Int32) -> String? {
        guard let digest = SHA256Digest() else { return nil }
        let piece = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        var offset: off_t = 0
        while true {
            let count = pread(file, buffer.baseAddress, piece, offset)
            guard count >= 0 else { return nil }
            if count == 0 { return SHA256Digest.hex(digest.finish()) }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += off_t(count)
        }
    }
}
