/// The rules of a path written as text, as `NSString` has them: extensions and slashes, never a look at the disk.
///
/// Source: spec of SDWebImage 5.21.5, sections 4.2 and 5.1 (`pathExtension`, `stringByDeletingPathExtension`,
/// `stringByAppendingPathExtension`).
enum PathString {
    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")

    /// What follows the last dot of the last component; trailing slashes do not count.
    ///
    /// Empty when there is no dot, or the last dot begins or ends the component: `.htaccess`, `image.` and `a...` have none.
    static func pathExtension(of path: [UInt8]) -> [UInt8] { extensionRange(in: path).map { Array(path[$0]) } ?? [] }

    /// Without the last extension, if there is one; in either case repeated slashes become one and trailing ones go.
    static func deletingExtension(_ path: [UInt8]) -> [UInt8] {
        let rest = extensionRange(in: path).map { Array(path[..<($0.lowerBound - 1)]) } ?? path
        var tidy: [UInt8] = []
        tidy.reserveCapacity(rest.count)
        for byte in rest where byte != slash || tidy.last != slash { tidy.append(byte) }
        if tidy.count > 1 && tidy.last == slash { tidy.removeLast() }
        return tidy
    }

    /// With a dot and `pathExtension` at the end; trailing slashes go first.
    static func appendingExtension(_ pathExtension: [UInt8], to path: [UInt8]) -> [UInt8] {
        path[..<endOfName(in: path)] + [dot] + pathExtension
    }

    /// Where the last extension stands, without its dot.
    private static func extensionRange(in path: [UInt8]) -> Range<Int>? {
        let end = endOfName(in: path)
        let start = path[..<end].lastIndex(of: slash).map { $0 + 1 } ?? 0
        guard let dot = path[start..<end].lastIndex(of: dot), dot > start, dot + 1 < end else { return nil }
        return (dot + 1)..<end
    }

    private static func endOfName(in path: [UInt8]) -> Int {
        path.lastIndex { $0 != slash }.map { $0 + 1 } ?? 0
    }
}
