private import CLinux
private import Glibc

/// The original's file, mapped.
struct SourceFile: ~Copyable {
    let bytes: UnsafeRawBufferPointer

    /// Maps the file; the caller keeps the descriptor.
    ///
    /// - Throws: `TranscodeError` 1001 when the file is empty, 205 when there is no memory.
    init(descriptor: Int32) throws(TranscodeError) {
        let length = Int(larder_file_length(descriptor))
        guard length > 0 else { throw TranscodeError(.undecodable, "the file is empty") }
        guard let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw TranscodeError(.memory, "the file of \(length) bytes cannot be mapped")
        }
        bytes = UnsafeRawBufferPointer(start: start, count: length)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }
}
