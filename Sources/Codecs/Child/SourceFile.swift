private import CLinux
private import Glibc
internal import Transcoder

/// The original's file, mapped into memory.
struct SourceFile: ~Copyable {
    /// The file with its edits, as codecs read it.
    let bytes: UnsafeRawBufferPointer
    /// The original bytes of the edited parts.
    private var replaced: [FileEdit] = []

    /// Maps the file; the caller keeps the descriptor.
    ///
    /// - Throws: `TranscodeError` 1001 if the file is empty, 205 if out of memory.
    init(descriptor: Int32) throws(TranscodeError) {
        let length = Int(larder_file_length(descriptor))
        guard length > 0 else { throw TranscodeError(.undecodable, "the file is empty") }
        // Private: edits never reach the file.
        guard let start = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED
        else { throw TranscodeError(.memory, "the file of \(length) bytes cannot be mapped") }
        bytes = UnsafeRawBufferPointer(start: start, count: length)
    }

    /// A copy of at least one byte.
    ///
    /// - Throws: `TranscodeError` 205 if out of memory.
    init(copying bytes: some Collection<UInt8>) throws(TranscodeError) {
        let length = bytes.count
        guard let start = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            start != MAP_FAILED
        else { throw TranscodeError(.memory, "there is no memory for a file of \(length) bytes") }
        UnsafeMutableRawBufferPointer(start: start, count: length).copyBytes(from: bytes)
        self.bytes = UnsafeRawBufferPointer(start: start, count: length)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// Replaces bytes in memory before any codec reads them. Edits must not overlap.
    mutating func apply(_ edits: [FileEdit]) {
        for edit in edits where edit.offset >= 0 && edit.offset + edit.bytes.count <= bytes.count {
            let place = edit.offset..<edit.offset + edit.bytes.count
            replaced.append(FileEdit(offset: edit.offset, bytes: Array(bytes[place])))
            UnsafeMutableRawBufferPointer(mutating: bytes)[place].copyBytes(from: edit.bytes)
        }
    }

    /// The bytes before the edits; nil if there were no edits.
    func original() -> [UInt8]? {
        guard !replaced.isEmpty else { return nil }
        var copy = Array(bytes)
        for edit in replaced.reversed() {
            copy.replaceSubrange(edit.offset..<edit.offset + edit.bytes.count, with: edit.bytes)
        }
        return copy
    }
}
