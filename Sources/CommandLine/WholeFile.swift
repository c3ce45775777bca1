import Glibc
package import Terminal

package enum WholeFile {
    /// Larger than any pipeline or list of credentials.
    private static let limit = 1 << 20

    /// The bytes of `path`; `-` is standard input.
    ///
    /// - Throws: a `CommandError` if the file is unreadable or larger than 1 MiB.
    package static func bytes(_ path: String) throws(CommandError) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("read", path) }
        defer { if descriptor > STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= limit {
            let count = read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .file("read", path) }
            if count == 0 { return bytes }
            bytes += block[..<count]
        }
        throw .larder(.file, "\(path) is larger than \(limit) bytes")
    }
}
