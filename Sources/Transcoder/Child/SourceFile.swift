private import Glibc
internal import ImageModel

/// The original, mapped: libvips' buffers are not copied, so it must outlive every picture made from it.
struct SourceFile: ~Copyable {
    let bytes: UnsafeRawBufferPointer

    /// Maps the file; the descriptor stays the caller's.
    ///
    /// - Throws: `TranscodeError` 1001 when there is nothing in it, 205 when there is no room.
    init(descriptor: Int32) throws(TranscodeError) {
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_size > 0 else {
            throw TranscodeError(.undecodable, "the file is empty")
        }
        let length = Int(information.st_size)
        guard let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw TranscodeError(.memory, "the file of \(length) bytes cannot be mapped")
        }
        bytes = UnsafeRawBufferPointer(start: start, count: length)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// The format, by the first bytes.
    var format: ImageFormat? { ImageFormat.recognise(Array(bytes.prefix(ImageFormat.recognisedBytes))) }
}
