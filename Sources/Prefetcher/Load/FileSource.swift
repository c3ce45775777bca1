internal import Concurrency
public import DiskCache
public import Downloader
private import Glibc
internal import ImageModel

/// Originals from `file:` URLs below given directories. Reads regular files only and follows no symbolic link below a
/// directory.
///
/// SDWebImage 5.21.5 reads any file URL.
public struct FileSource: ImageSource {
    /// Reads that may hang at once, for example on a network file system, before others wait.
    private static let threads = 8

    private let directories: Locked<[OpenDirectory]>
    private let limits: FetchLimits
    private let disk: ThreadPool?

    /// A source over directories, opened now; without any, the default, every file is refused. A path that later names
    /// another directory is opened again.
    ///
    /// - Parameters:
    ///   - paths: directories.
    ///   - limits: `body`, and `total` for reading one file, including the wait for a thread.
    /// - Throws: `StoreError` for a path that is not a directory, and on Linux before 5.6.
    public init(directories paths: [String], limits: FetchLimits = FetchLimits()) throws(StoreError) {
        directories = Locked(try paths.map { (path) throws(StoreError) in try OpenDirectory(path) })
        self.limits = limits
        disk = paths.isEmpty ? nil : ThreadPool(name: "files", threads: Self.threads)
    }

    /// Whether the scheme is `file`.
    public func canLoad(_ url: String) -> Bool { FileURL.isFile(url) }

    /// Copies the file at the URL.
    public func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse {
        do throws(FetchError) {
            return try await fetch(request, into: file)
        } catch {
            throw LoadError(error)
        }
    }

    /// Copies the file at the URL into an open file.
    ///
    /// - Throws: `FetchError`: `addressRefused` for a file that is not below one of the directories.
    package func fetch(_ request: FetchRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        let url = request.url
        let path = try FileURL.path(url)
        guard let disk else { throw Self.refusal(url, path) }
        let limits = request.limits ?? limits, directories = directories
        let copy = FileCopy(
            url: url, limit: limits.body, inspects: request.inspects, target: CopyTarget(duplicating: file))
        return try await disk.run(
            within: limits.total,
            late: FetchError(.timedOut, "\(url): reading the file took more than \(limits.total)"),
            cancelled: FetchError(.cancelled, "cancelled")
        ) { () throws(FetchError) in
            let held = directories.withLock { $0 }.map(\.current)
            directories.withLock { $0 = held }
            let places = held.compactMap { directory in directory.relative(path).map { (directory, $0) } }
            // Directories may overlap: a file behind a link in one may lie directly in another.
            var failure: FetchError?
            for (directory, relative) in places {
                do throws(FetchError) { return try copy.run(try Self.entry(relative, in: directory, url)) } catch {
                    failure = failure ?? error
                }
            }
            throw failure ?? Self.refusal(url, path)
        }
    }

    private static func refusal(_ url: String, _ path: [UInt8]) -> FetchError {
        FetchError(.addressRefused, "\(url): the file is not below an allowed directory").needing(setting(for: path))
    }

    /// The option that would allow a path: its directory. Omitted if an option cannot contain the name.
    private static func setting(for path: [UInt8]) -> [RequiredSetting] {
        let parent = path.prefix(upTo: path.lastIndex(of: UInt8(ascii: "/")) ?? 0)
        guard let text = String(validating: parent, as: UTF8.self), !parent.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else { return [] }
        return [.path(text.isEmpty ? "/" : text)]
    }

    private static func entry(
        _ relative: [UInt8], in directory: OpenDirectory, _ url: String
    ) throws(FetchError) -> DirectoryEntry {
        do throws(StoreError) { return try directory.entry(relative) } catch {
            switch error.number {
            case EXDEV: throw FetchError(.addressRefused, "\(url): '..' leads out of the allowed directory")
            case ELOOP: throw FetchError(.addressRefused, "\(url): has a symbolic link, which is not followed")
            default: throw FileCopy.failure(error.number, url)
            }
        }
    }
}
