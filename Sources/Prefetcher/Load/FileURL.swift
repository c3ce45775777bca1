package import Downloader

/// `file:` URLs and their paths, as bytes: file names need not be UTF-8.
package enum FileURL {
    private static let scheme = Array("file:".utf8)
    /// Bytes that are not percent-encoded, as in Foundation's file URLs.
    private static let plain = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,/:;=@".utf8)

    /// Whether the scheme is `file`, in any case.
    package static func isFile(_ url: String) -> Bool {
        url.utf8.prefix(scheme.count).map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 } == scheme
    }

    /// The URL of a file, also its cache key: the same text as Foundation's `URL(filePath:)`.
    ///
    /// - Parameter path: absolute.
    package static func text(_ path: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text = Array("file://".utf8)
        for byte in path {
            if plain.contains(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The absolute path in a URL, percent-decoded.
    ///
    /// - Throws: `invalidURL` for another host, a query, a fragment, a control character, a `%` without two digits, and
    ///   `%00`.
    package static func path(_ url: String) throws(FetchError) -> [UInt8] {
        let bytes = Array(url.utf8)
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw FetchError(.invalidURL, "the URL contains a control character")
        }
        var rest = bytes.dropFirst(scheme.count)
        guard isFile(url), rest.starts(with: Array("//".utf8)) else {
            throw malformed(url, "does not begin with file:///")
        }
        rest = rest.dropFirst(2)
        let localhost = Array("localhost".utf8)
        if rest.prefix(localhost.count).map({ $0 | 0x20 }) == localhost { rest = rest.dropFirst(localhost.count) }
        guard rest.first == UInt8(ascii: "/") else { throw malformed(url, "does not begin with file:///") }
        guard !rest.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            throw malformed(url, "has a ? or #, which a file name has escaped as %3F or %23")
        }
        var path: [UInt8] = []
        path.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                path.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            rest = rest.dropFirst(2)
            guard digits.count == 2, digits != [0, 0] else { throw malformed(url, "has a malformed escape") }
            path.append(UInt8(digits[0] * 16 + digits[1]))
        }
        return path
    }

    private static func malformed(_ url: String, _ reason: String) -> FetchError {
        FetchError(.invalidURL, "\(url): the URL \(reason)")
    }
}
