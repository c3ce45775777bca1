import CommandLine
import DiskCache
import Downloader
import Glibc
import Prefetcher
import Terminal

/// The directories whose files a command may read as `file:` URLs.
enum AllowedPaths {
    static let option = Option(
        "allow-path", .values("DIR"), "allow file: URLs below a directory; links below it are not followed")

    /// The source of the options. `run` itself reads the files that `--from-directory` enqueues.
    ///
    /// - Throws: wrong usage for a path that is not a directory.
    static func source(_ arguments: Arguments, _ limits: FetchLimits) throws(CommandError) -> FileSource {
        let paths = try arguments.list(option.name) + arguments.list("from-directory")
        do throws(StoreError) {
            return try FileSource(directories: paths, limits: limits)
        } catch {
            let reason =
                switch error.number {
                case ENOSYS: "file: URLs need Linux 5.6 or later"
                case EPERM: "the container's seccomp filter denies openat2, which file: URLs need"
                default: String(cString: strerror(error.number))
                }
            throw .usage("\(arguments.label(option.name)): cannot open '\(error.path)': \(reason)")
        }
    }
}
