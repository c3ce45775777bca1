internal import DiskCache
internal import Downloader
private import Foundation

/// The validators of a cached original are an extended attribute of its file.
///
/// They replace SDWebImage's URL cache, which Linux does not have (SDWebImage 5.21.5, spec 3.11).
extension Validators {
    private static let attribute = "larder.validators"

    /// Reads them; an original without the attribute, stored by an app for example, has its digest only. Blocks.
    init(of file: OpenFile) throws(StoreError) {
        if let bytes = try file.attribute(Self.attribute),
            let known = try? JSONDecoder().decode(Validators.self, from: Data(bytes))
        {
            self = known
        } else {
            self.init(sha256: SHA256Digest.hex(ofFile: file.descriptor))
        }
    }

    /// Attaches them to an original before its commit. A file system may refuse, ext4 for example more than 4 kB of attributes:
    /// the original then has its digest only. Blocks.
    func keep(with file: TemporaryFile) {
        if let bytes = try? JSONEncoder().encode(self) { try? file.setAttribute(Self.attribute, Array(bytes)) }
    }

    /// Attaches them to a cached original, as far as its file system allows. Blocks.
    func note(at file: OpenFile) {
        if let bytes = try? JSONEncoder().encode(self) { file.setAttribute(Self.attribute, Array(bytes)) }
    }
}
