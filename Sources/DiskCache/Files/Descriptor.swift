import Glibc

/// A file descriptor, closed by `deinit`.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    /// Calls `open` with close-on-exec and, for new files, mode 0644 minus the umask.
    init(opening path: String, _ flags: Int32) throws(StoreError) {
        let opened = retrying { open(path, flags | O_CLOEXEC, 0o644) }
        guard opened >= 0 else { throw StoreError("open", path) }
        number = opened
    }

    /// Nil if the file does not exist.
    init?(ifPresent path: String, _ flags: Int32) throws(StoreError) {
        let opened = retrying { open(path, flags | O_CLOEXEC, 0o644) }
        if opened < 0 && errno == ENOENT { return nil }
        guard opened >= 0 else { throw StoreError("open", path) }
        number = opened
    }

    init(owning number: Int32) { self.number = number }

    // A process being spawned on another thread has a copy of the descriptor until it executes its program, and with it
    // the lock.
    deinit {
        flock(number, LOCK_UN)
        close(number)
    }

    /// Calls `fstat`.
    func status(of path: String) throws(StoreError) -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw StoreError("fstat", path) }
        return status
    }

    /// Writes all of `bytes` at `offset`, or at the current position.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int? = nil, to path: String) throws(StoreError) {
        var rest = bytes
        while !rest.isEmpty {
            let position = offset.map { $0 + bytes.count - rest.count }
            let written =
                if let position { pwrite(number, rest.baseAddress, rest.count, off_t(position)) } else {
                    Glibc.write(number, rest.baseAddress, rest.count)
                }
            if written < 0 && errno == EINTR { continue }
            guard written >= 0 else { throw StoreError(offset == nil ? "write" : "pwrite", path) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
        }
    }

    /// Reads up to `count` bytes at `offset`; fewer at the end of the file.
    func read(_ count: Int, at offset: Int, from path: String) throws(StoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let length = bytes.withUnsafeMutableBytes {
                pread(number, $0.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
            }
            if length < 0 && errno == EINTR { continue }
            guard length >= 0 else { throw StoreError("pread", path) }
            if length == 0 { break }
            filled += length
        }
        return Array(bytes.prefix(filled))
    }

    /// Locks the file without waiting; `deinit` releases the lock. File systems without locks are ignored.
    ///
    /// - Throws: `StoreError.busy` while another process holds it.
    func lock(to operation: String, _ path: String) throws(StoreError) {
        if retrying({ flock(number, LOCK_EX | LOCK_NB) }) != 0 && errno == EWOULDBLOCK {
            throw StoreError(.busy, operation, path)
        }
    }
}

/// Repeats a call interrupted by a signal.
func retrying(_ call: () -> Int32) -> Int32 {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` with a typed error.
    func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try withUnsafeBufferPointer { (bytes) throws(StoreError) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}
