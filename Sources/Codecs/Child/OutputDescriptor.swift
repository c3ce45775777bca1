private import Glibc
internal import ImageModel
internal import Transcoder

/// The descriptor that a variant is written to.
struct OutputDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all bytes from offset 0.
    ///
    /// - Throws: `TranscodeError` 403, 501.
    func write(_ bytes: UnsafeRawBufferPointer) throws(TranscodeError) {
        var done = 0
        while done < bytes.count {
            let written = pwrite(number, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(done))
            if written > 0 {
                done += written
            } else if written == 0 || errno != EINTR {
                let number = errno
                throw TranscodeError(
                    MachineShortage.reason(number) == nil ? .store : .localFault,
                    "the output cannot be written (errno \(number))")
            }
        }
    }
}
