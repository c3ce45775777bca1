internal import DiskCache
internal import Downloader

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
