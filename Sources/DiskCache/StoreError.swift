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
        /// A directory stands where a file is needed.
        public static let isADirectory = Code(rawValue: "isADirectory")
        /// The process, or the system, has too many open files.
        public static let tooManyOpenFiles = Code(rawValue: "tooManyOpenFiles")
        /// The extended data is larger than an attribute may be.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The root or namespace cannot name a directory.
        public static let invalidName = Code(rawValue: "invalidName")
        /// The cache's own file holds what Larder did not write.
        public static let damaged = Code(rawValue: "damaged")
        /// Another process is at what only one may do at a time.
        public static let busy = Code(rawValue: "busy")
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

    /// One line: code, operation, path and the system's words. Control characters in the path show as `?`.
    public var description: String {
        let path = String(path.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "?" : Character($0) })
        let cause = number == 0 ? "" : ": \(String(cString: strerror(number))) (errno \(number))"
        return "\(code.rawValue): \(operation) \(path)\(cause)"
    }
}

extension StoreError.Code {
    fileprivate init(errorNumber: Int32) {
        switch errorNumber {
        case ENOSPC, EDQUOT, EFBIG: self = .diskFull
        case EROFS: self = .readOnly
        case EACCES, EPERM: self = .permission
        case ENOENT, ESTALE: self = .missing
        case ENAMETOOLONG: self = .nameTooLong
        case ENOTDIR, ELOOP: self = .notADirectory
        case EISDIR: self = .isADirectory
        case EMFILE, ENFILE: self = .tooManyOpenFiles
        case E2BIG, ERANGE: self = .tooLarge
        default: self = .inputOutput
        }
    }
}
