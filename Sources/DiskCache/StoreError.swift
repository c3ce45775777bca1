import Glibc

/// Why the disk cache could not do what it was asked.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is; the only thing to decide by.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// A word in lower camel case, for logs.
        public let rawValue: String

        /// A code that is not among the static members.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The disk, or the user's quota, is full, or the largest file size is reached.
        public static let diskFull = Code(rawValue: "diskFull")
        /// The file system is mounted read-only.
        public static let readOnly = Code(rawValue: "readOnly")
        /// The process may not do this here.
        public static let permission = Code(rawValue: "permission")
        /// A file or directory is not there, or no longer.
        public static let missing = Code(rawValue: "missing")
        /// A name or path is longer than the file system takes.
        public static let nameTooLong = Code(rawValue: "nameTooLong")
        /// Something else stands where a directory is needed.
        public static let notADirectory = Code(rawValue: "notADirectory")
        /// Something stands already where something new is to be made.
        public static let exists = Code(rawValue: "exists")
        /// A directory stands where a file is needed.
        public static let isADirectory = Code(rawValue: "isADirectory")
        /// The process, or the system, has too many open files.
        public static let tooManyOpenFiles = Code(rawValue: "tooManyOpenFiles")
        /// Extended data or another attribute is larger than the file system keeps; what is read in whole, like a line of a
        /// manifest, is longer than it may be; pixels are more or fewer than the picture has.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The root or namespace cannot name a directory, or a name is none that Larder or SDWebImage gives.
        public static let invalidName = Code(rawValue: "invalidName")
        /// A file is not what it has to be: the cache's id, a bundle, a manifest, or what a manifest describes.
        public static let damaged = Code(rawValue: "damaged")
        /// Another process is at what only one may do at a time.
        public static let busy = Code(rawValue: "busy")
        /// The file system cannot do this at all.
        public static let unsupported = Code(rawValue: "unsupported")
        /// Everything else, foremost a failing device.
        public static let inputOutput = Code(rawValue: "inputOutput")
    }

    /// The kind of failure.
    public let code: Code
    /// The system's error number; 0 where no system call failed.
    public let number: Int32
    /// The system call, or what was attempted, for example `rename`.
    public let operation: String
    /// What it was attempted on.
    public let path: String

    /// An error found by the cache itself.
    init(_ code: Code, _ operation: String, _ path: String) {
        self.code = code
        self.number = 0
        self.operation = operation
        self.path = path
    }

    /// The failure of a system call, classified by its error number: the current `errno` if none is given.
    package init(_ operation: String, _ path: String, number: Int32 = errno) {
        self.code = Code(errorNumber: number)
        self.number = number
        self.operation = operation
        self.path = path
    }

    /// One line in plain words: what could not be done, with what, and why; the system call and its number behind it.
    /// Control characters in the path show as `?`.
    public var description: String {
        let path = String(path.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "?" : Character($0) })
        guard number != 0 else {
            return "cannot \(operation) " + (code == .invalidName ? "'\(path)'" : path) + (code.explanation ?? "")
        }
        let cause = String(cString: strerror(number))
        return "cannot \(Self.deed(operation)) \(path): \(cause) (\(operation), errno \(number))"
    }

    /// What a system call was made for, in words; what is no call of these stands for itself.
    private static func deed(_ call: String) -> String {
        switch call {
        case "mkdir": "make the directory"
        case "fsync", "fdatasync": "bring to the disk"
        case "rename": "give a file the name"
        case "link": "move"
        case "unlink", "rmdir": "delete"
        case "stat", "fstat": "look at"
        case "pread", "readdir": "read"
        case "fdopendir": "open"
        case "pwrite": "write"
        case "ftruncate", "fallocate": "set the length of"
        case "futimens": "set the dates of"
        case "fchmod", "chmod": "set the mode of"
        case "fchown", "lchown": "set the owner of"
        case "fsetxattr": "set an attribute of"
        case "fgetxattr": "read an attribute of"
        case "dedupe": "share the bytes of"
        case "archive_write_new", "archive_read_new", "archive_entry_new": "begin with the archive"
        default: call
        }
    }
}

extension StoreError.Code {
    /// What more there is to say where no system call failed.
    fileprivate var explanation: String? {
        switch self {
        case .exists: ": something is there already"
        case .busy: ": another process is at it"
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
