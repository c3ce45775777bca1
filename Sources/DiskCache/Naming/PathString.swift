/// The path functions of `NSString`, on bytes.
///
/// Source: SDWebImage 5.21.5, `SDDiskCacheFileNameForKey`, and Foundation (`pathExtension`,
/// `stringByDeletingPathExtension`, `stringByAppendingPathExtension`).
enum PathString {
    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")

    /// The part after the last component's last dot; ignores trailing slashes.
    ///
    /// Empty if there is no dot, or it is the component's first or last byte: `.htaccess`, `image.`, `a...`.
    static func pathExtension(of path: [UInt8]) -> [UInt8] { extensionRange(in: path).map { Array(path[$0]) } ?? [] }

    /// The extension of a URL's path. A space or a character that changes text direction ends the search for the dot.
    ///
    /// Source: CoreFoundation, `_CFGetPathExtensionRangesFromPathComponent`, which `CFURLCopyPathExtension` calls since
    /// iOS 9.
    static func urlPathExtension(of path: [UInt8]) -> [UInt8] {
        let found = pathExtension(of: path)
        return String(decoding: found, as: UTF8.self).unicodeScalars.contains(where: endsSearch) ? [] : found
    }

    private static func endsSearch(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20, 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Removes the last extension, trailing slashes, and repeated slashes.
    static func deletingExtension(_ path: [UInt8]) -> [UInt8] {
        let rest = extensionRange(in: path).map { Array(path[..<($0.lowerBound - 1)]) } ?? path
        var result: [UInt8] = []
        result.reserveCapacity(rest.count)
        for byte in rest where byte != slash || result.last != slash { result.append(byte) }
        if result.count > 1 && result.last == slash { result.removeLast() }
        return result
    }

    /// Removes trailing slashes and appends a dot and `pathExtension`.
    static func appendingExtension(_ pathExtension: [UInt8], to path: [UInt8]) -> [UInt8] {
        path[..<endOfName(in: path)] + [dot] + pathExtension
    }

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
