import CommandLine
import Glibc
import ImageModel
import Terminal
import Transcoder

extension Command {
    static let sniff = Command(
        words: ["sniff"], operands: "FILE...",
        summary: "Print the format of files by their bytes, as SDWebImage sniffs them",
        discussion: """
            Prints {"path":...,"format":"jpeg","sdImageFormat":0}; -1 and "undefined" for a format that SDWebImage does not recognise.
            """,
        examples: ["larder sniff a.jpg b.webp"],
        options: []
    ) { arguments in
        let paths = try arguments.operands("FILE", of: "sniff")
        var failed = false
        for path in paths {
            do {
                let ends = try FileEnds(path)
                let format = SDImageFormat.sniff(prefix: ends.prefix, suffix: ends.suffix)
                try Console.json(["path": path, "format": "\(format)", "sdImageFormat": format.rawValue])
            } catch {
                Console.report(CommandError(error), asJSON: arguments.flag("json"))
                failed = true
            }
        }
        return failed ? .failed : .done
    }
}

/// The first and last bytes of a file, as many as sniffing reads.
struct FileEnds {
    let prefix: [UInt8]
    let suffix: [UInt8]

    /// - Throws: `CommandError` with the file's name.
    init(_ path: String) throws(CommandError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("read", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file("read", path) }
        let size = Int(status.st_size)
        let wanted = SDImageFormat.sniffedBytes
        prefix = try Self.read(descriptor, wanted.prefix, at: 0, of: path)
        suffix = try Self.read(descriptor, wanted.suffix, at: max(0, size - wanted.suffix), of: path)
    }

    private static func read(
        _ descriptor: Int32, _ count: Int, at offset: Int, of path: String
    ) throws(CommandError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(descriptor, &bytes, count, off_t(offset))
        guard got >= 0 else { throw .file("read", path) }
        return Array(bytes.prefix(got))
    }
}
