/// A parsed `Range` header (RFC 9110, 14.2).
package enum ByteRange: Equatable {
    /// The whole file: no header, another unit, several ranges, or an error.
    case whole
    case part(Range<Int>)
    /// The range is outside the file: status 416.
    case outside

    package init(_ header: String?, size: Int) {
        self = .whole
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else { return }
        let bounds = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return
        }
        switch (Int(bounds[0]), Int(bounds[1])) {
        case (let first?, let last?) where first <= last:
            self = first < size ? .part(first..<min(size, last == .max ? size : last + 1)) : .outside
        case (let first?, nil) where bounds[1].isEmpty:
            self = first < size ? .part(first..<size) : .outside
        case (nil, let count?) where bounds[0].isEmpty:
            self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .outside
        default: return
        }
    }
}
