import DiskCache
import Glibc
import Prefetcher

/// Walks the files below a directory in byte order of their names. Skips links, hidden directories and files that do
/// not match. Keeps the sorted names of one directory, and the remaining names of its parents.
struct DirectoryWalk: Sendable {
    enum Found: Sendable {
        /// A file's absolute path.
        case file([UInt8])
        /// An unreadable directory's path below the first one, and the reason.
        case unreadable([UInt8], String)
    }

    private struct Name: Sendable {
        let bytes: [UInt8]
        let isDirectory: Bool
    }

    private struct Level: Sendable {
        /// The path below the first directory, with a final slash; empty for the first directory.
        let prefix: [UInt8]
        /// Remaining names, next one last.
        var names: [Name]
    }

    private let root: OpenDirectory
    private let patterns: [String]
    private let formats: [String]
    private var levels: [Level] = []
    /// Skipped files whose format is accepted on request, by extension.
    private(set) var skipped: [String: Int] = [:]

    /// - Parameters:
    ///   - patterns: for `fnmatch`: with a slash for the path below the directory, else for the name. Without patterns,
    ///     takes files with an extension of the formats accepted by default, or in `formats`.
    ///   - formats: from `--allow-format`.
    /// - Throws: `StoreError` if the directory cannot be opened or read.
    init(_ path: String, patterns: [String], formats: [String]) throws(StoreError) {
        root = try OpenDirectory(path)
        self.patterns = patterns
        self.formats = formats
        levels = [try level([])]
    }

    /// Up to `count` steps; empty at the end. Blocks.
    mutating func next(_ count: Int) -> [Found] {
        var found: [Found] = []
        while found.count < count, !levels.isEmpty {
            let prefix = levels[levels.count - 1].prefix
            guard let name = levels[levels.count - 1].names.popLast() else {
                levels.removeLast()
                continue
            }
            let path = prefix + name.bytes
            if name.isDirectory {
                do throws(StoreError) { levels.append(try level(path + [UInt8(ascii: "/")])) } catch {
                    found.append(.unreadable(path, String(cString: strerror(error.number))))
                }
            } else {
                found.append(.file(root.path + [UInt8(ascii: "/")] + path))
            }
        }
        return found
    }

    private mutating func level(_ prefix: [UInt8]) throws(StoreError) -> Level {
        let entry = try root.entry(prefix.isEmpty ? Array(".".utf8) : prefix)
        var stream = try DirectoryStream(entry.open(O_DIRECTORY), String(decoding: prefix, as: UTF8.self))
        let directory = stream.descriptor
        var names: [Name] = []
        while let name = try stream.next({ (pointer) throws(StoreError) in self.name(pointer, directory, prefix) }) {
            if let name { names.append(name) }
        }
        names.sort { $1.bytes.lexicographicallyPrecedes($0.bytes) }
        return Level(prefix: prefix, names: names)
    }

    /// Nil if skipped.
    private mutating func name(_ pointer: UnsafePointer<CChar>, _ directory: Int32, _ prefix: [UInt8]) -> Name? {
        var status = stat()
        guard fstatat(directory, pointer, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        let bytes = Array(UnsafeRawBufferPointer(start: pointer, count: strlen(pointer)))
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return bytes.first == UInt8(ascii: ".") ? nil : Name(bytes: bytes, isDirectory: true)
        case S_IFREG: return accepts(bytes, prefix) ? Name(bytes: bytes, isDirectory: false) : nil
        default: return nil
        }
    }

    private mutating func accepts(_ name: [UInt8], _ prefix: [UInt8]) -> Bool {
        guard !patterns.isEmpty else {
            guard name.first != UInt8(ascii: "."), let ending = ImageName.ending(name) else { return false }
            guard let format = ImageName.formatOnRequest(ending) else { return ImageName.isImage(name) }
            if formats.contains(format) { return true }
            skipped[ending, default: 0] += 1
            return false
        }
        return patterns.contains { pattern in
            let text = (pattern.utf8.contains(UInt8(ascii: "/")) ? prefix + name : name) + [0]
            return text.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
                return fnmatch(pattern, start, FNM_PATHNAME | FNM_PERIOD) == 0
            }
        }
    }
}
