private import CLinux
import Glibc

/// Small notes that go with a file: extended attributes of the `user.` kind.
extension OpenFile {
    /// The attribute `user.NAME`; nil when there is none or the file system keeps none.
    ///
    /// - Throws: `StoreError` when it cannot be read.
    package func attribute(_ name: String) throws(StoreError) -> [UInt8]? {
        var data = [UInt8](repeating: 0, count: 64 << 10)  // XATTR_SIZE_MAX
        let length = larder_get_attribute(descriptor, "user." + name, &data, data.count)
        if length >= 0 { return Array(data.prefix(length)) }
        if errno == ENODATA || errno == ENOTSUP { return nil }
        throw StoreError("fgetxattr", path)
    }

    /// Sets the attribute `user.NAME` of a stored file; one that may not be set is left as it is.
    package func setAttribute(_ name: String, _ value: [UInt8]) {
        _ = larder_set_attribute(descriptor, "user." + name, value, value.count)
    }
}

extension TemporaryFile {
    /// Sets the attribute `user.NAME`, which goes with the file when it is published.
    ///
    /// A file system without attributes keeps none, which is no error.
    package func setAttribute(_ name: String, _ value: [UInt8]) throws(StoreError) {
        if larder_set_attribute(descriptor, "user." + name, value, value.count) == 0 || errno == ENOTSUP { return }
        throw StoreError("fsetxattr", path)
    }
}

extension OpenFile {
    /// Calls `body` with the file's first bytes, at most `length`; fewer where it is shorter or cannot be read.
    package func withPrefix<Result>(_ length: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, length, 0)
            return body(UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)]))
        }
    }
}
