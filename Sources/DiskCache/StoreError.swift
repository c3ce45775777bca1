public import Glibc
internal import ImageModel

/// A failure of a store.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure; its raw value is for logs.
    public enum Code: String, Sendable {
        /// The disk or a quota is full, or the maximum file size is exceeded.
        case diskFull
        /// The file system is mounted read-only.
        case readOnly
        /// The process lacks permission.
        case permission
        /// A file or directory does not exist.
        case missing
        /// A name or path is too long for the file system.
        case nameTooLong
        /// A path component is not a directory.
        case notADirectory
        /// The file to be created exists.
        case exists
        /// The file to be replaced is a directory.
        case isADirectory
        /// The process or system has too many open files.
        case tooManyOpenFiles
        /// An attribute exceeds the file system's limit, a manifest exceeds its limits, or the number of pixels is
        /// wrong.
        case tooLarge
        /// A root, namespace or table name cannot be used, or a file name is not UTF-8.
        case invalidName
        /// The cache id, a bundle, a manifest, or a file in one is invalid.
        case damaged
        /// Another process holds the lock.
        case busy
        /// The file system does not support the operation.
        case unsupported
        /// The file of this name has another key, or the name is a directory.
        case nameTaken
        /// This machine's clock differs too much from the store's.
        case clockSkewed
        /// A request to a store on another host did not reach it, failed there, or was rate-limited.
        case unreachable
        /// A store on another host answers no request: too many consecutive failures, or a wrong certificate or region.
        case unavailable
        /// The machine lacks memory, descriptors or a route.
        case machine
        /// Any other failure, such as a device's.
        case inputOutput
    }

    /// The kind of failure.
    public let code: Code
    /// The failed system call's `errno`; 0 if none failed.
    public let number: Int32
    /// The system call, such as `rename`, or a description of the operation.
    public let operation: String
    /// The path passed to it.
    public let path: String
    /// The cause in words, if neither a system call nor a code describes it.
    public let cause: String?

    /// A failure without a system call.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - operation: the words after "cannot", such as `upload`.
    ///   - path: the file, possibly on another host.
    ///   - cause: why, in words; nil by default.
    public init(_ code: Code, _ operation: String, _ path: String, cause: String? = nil) {
        self.code = code
        self.number = 0
        self.operation = operation
        self.path = path
        self.cause = cause
    }

    /// The failure of a system call, by default with the current `errno`.
    public init(_ operation: String, _ path: String, number: Int32 = errno) {
        self.code = Code(errorNumber: number)
        self.number = number
        self.operation = operation
        self.path = path
        cause = nil
    }

    /// Whether every file of the store fails like this until the machine has space, descriptors, memory or permission
    /// again, or the directory, device or remote store is back.
    public var isLocal: Bool {
        switch number {
        case ENOTDIR, ENODEV, ENXIO, ESTALE: true
        // A read may have hit a bad sector of one file.
        case EIO: !["read", "pread"].contains(operation)
        // Not EFBIG: a file over the maximum size fails alone.
        default:
            [.permission, .clockSkewed, .machine, .unavailable].contains(code)
                || MachineShortage.reason(number) != nil
        }
    }

    /// One line with operation, path and cause. Control characters in the path become `?`.
    public var description: String {
        let path = String(path.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "?" : Character($0) })
        guard number != 0 else {
            let reason = cause.map { ": " + $0 } ?? code.explanation ?? ""
            return "cannot \(operation) " + (code == .invalidName ? "'\(path)'" : path) + reason
        }
        let cause = String(cString: strerror(number))
        return "cannot \(Self.purpose(operation)) \(path): \(cause) (\(operation), errno \(number))"
    }

    /// A system call's purpose in words.
    private static func purpose(_ call: String) -> String {
        switch call {
        case "mkdir": "create the directory"
        case "fsync", "fdatasync": "sync"
        case "rename": "rename a file to"
        case "link": "move"
        case "unlink", "rmdir": "delete"
        case "stat", "fstat": "read the attributes of"
        case "pread", "readdir": "read"
        case "fdopendir": "open"
        case "pwrite": "write"
        case "ftruncate", "fallocate": "set the length of"
        case "futimens": "set the dates of"
        case "fchmod", "chmod": "set the mode of"
        case "fchown", "lchown": "set the owner of"
        case "fsetxattr": "set an attribute of"
        case "fgetxattr": "read an attribute of"
        case "dedupe": "share the blocks of"
        case "archive_write_new", "archive_read_new", "archive_entry_new": "open the archive"
        default: call
        }
    }
}

extension StoreError.Code {
    /// The cause, for a failure without a system call.
    fileprivate var explanation: String? {
        switch self {
        case .exists: ": it exists already"
        case .busy: ": another process is doing so"
        default: nil
        }
    }

    fileprivate init(errorNumber: Int32) {
        switch errorNumber {
        case ENOSPC, EDQUOT, EFBIG: self = .diskFull
        case EROFS: self = .readOnly
        case EACCES, EPERM: self = .permission
        case ENOENT, ESTALE: self = .missing
        case ENAMETOOLONG: self = .nameTooLong
        case ENOTDIR, ELOOP: self = .notADirectory
        case EEXIST, ENOTEMPTY: self = .exists
        case EISDIR: self = .isADirectory
        case EMFILE, ENFILE: self = .tooManyOpenFiles
        case E2BIG, ERANGE: self = .tooLarge
        case EOPNOTSUPP, ENOTTY, ENOSYS: self = .unsupported
        default: self = .inputOutput
        }
    }
}
