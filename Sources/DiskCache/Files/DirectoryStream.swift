import Glibc

/// An open directory, closed by `deinit`.
package struct DirectoryStream: ~Copyable {
    private let stream: OpaquePointer
    private let path: String

    /// Nil if the directory does not exist (`fdopendir`).
    ///
    /// - Parameter following: whether `path` may be a symbolic link.
    init?(ifPresent path: String, following: Bool) throws(StoreError) {
        let number = retrying { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (following ? 0 : O_NOFOLLOW)) }
        if number < 0 && errno == ENOENT { return nil }
        try self.init(number, path)
    }

    /// Takes over an open descriptor, or the -1 and errno of a failed open.
    package init(_ number: Int32, _ path: String) throws(StoreError) {
        guard number >= 0 else { throw StoreError("open", path) }
        guard let stream = fdopendir(number) else {
            let code = errno
            close(number)
            throw StoreError("fdopendir", path, number: code)
        }
        self.stream = stream
        self.path = path
    }

    deinit { closedir(stream) }

    /// For calls such as `fstatat`.
    package var descriptor: Int32 { dirfd(stream) }

    /// Calls `body` with the next name other than `.` and `..`; nil at the end. The pointer is valid during the call.
    package mutating func next<Value>(
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw StoreError("readdir", path) }
                return nil
            }
            let result = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { name -> Result<Value, StoreError>? in
                    guard strcmp(name, ".") != 0, strcmp(name, "..") != 0 else { return nil }
                    return Result { () throws(StoreError) in try body(name) }
                }
            }
            if let result { return try result.get() }
        }
    }
}
