private import Glibc

/// A part of an open file that is sent as the body of a request.
package struct UploadedPart: Sendable, Equatable {
    /// The file, open for reading; it stays the caller's and must be open until the call returns.
    package let file: Int32
    /// The first byte to send.
    package let offset: Int
    /// Bytes to send.
    package let count: Int

    /// A part of `file`, which must be that long.
    package init(of file: Int32, offset: Int = 0, count: Int) {
        self.file = file
        self.offset = offset
        self.count = count
    }

    /// Reads the bytes from `position` of the part on; 0 at its end, nil when the file cannot be read or is shorter.
    func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int? {
        let rest = min(buffer.count, count - position)
        if rest <= 0 { return 0 }
        while true {
            let read = pread(file, buffer.baseAddress, rest, off_t(offset + position))
            if read < 0 && errno == EINTR { continue }
            return read > 0 ? read : nil
        }
    }
}
