internal import Concurrency
internal import DiskCache

/// The files a load holds, so that the last reference to each is dropped where closing and unlinking may block.
final class OpenFiles: Sendable {
    private let files = Locked<[any Sendable & AnyObject]>([])

    /// Keeps a file until the load is over.
    func keep(_ file: any Sendable & AnyObject) { files.withLock { $0.append(file) } }

    /// Lets go of all: closes them, and removes those that got no name. Blocks.
    func close() {
        let last = files.withLock { files in
            defer { files = [] }
            return files
        }
        withExtendedLifetime(last) {}
    }
}
