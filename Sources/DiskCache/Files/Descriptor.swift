import Glibc

/// An open file and the duty to close it.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    /// The corresponding C function is `open`; always close-on-exec, with mode 0644 less the umask for new files.
    ///
    /// - Throws: the failure, with `path`.
    init(opening path: String, _ flags: Int32) throws(StoreError) {
        number = retrying { open(path, flags | O_CLOEXEC, 0o644) }
        guard number >= 0 else { throw StoreError("open", path) }
    }

    /// Like `init(opening:)`; nil when nothing has that name.
    init?(ifPresent path: String, _ flags: Int32) throws(StoreError) {
        number = retrying { open(path, flags | O_CLOEXEC, 0o644) }
        if number < 0 && errno == ENOENT { return nil }
        guard number >= 0 else { throw StoreError("open", path) }
    }

    /// Takes over an open descriptor.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// The corresponding C function is `fstat`.
    func status(of path: String) throws(StoreError) -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw StoreError("fstat", path) }
        return status
    }
}

/// Calls again what a signal interrupted.
func retrying(_ call: () -> Int32) -> Int32 {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// Writes all of `bytes` at the current position of `descriptor`.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: borrowing Descriptor, at path: String) throws(StoreError)
{
    var rest = bytes[...]
    while !rest.isEmpty {
        let written = write(descriptor.number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written < 0 && errno == EINTR { continue }
        guard written >= 0 else { throw StoreError("write", path) }
        rest = rest.dropFirst(written)
    }
}
