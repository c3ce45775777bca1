import Downloader
import Prefetcher

/// A URL as output may show it: without userinfo, otherwise its bytes as they are.
enum ShownURL {
    /// Looks at bytes: a character may be an `@` with something combined. Also hides what a malformed URL has before
    /// an `@`, with one slash, three or none; an `@` in a path stays.
    static func text(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        let slashes = bytes[(colon + 1)...].prefix { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let authority = bytes[slashes.endIndex...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return url }
        return String(decoding: bytes[..<authority.startIndex] + bytes[(at + 1)...], as: UTF8.self)
    }
}

/// A URL as logs may show it: without userinfo and query, and nothing that could forge a line.
enum LoggedURL {
    static func text(_ url: String) -> String {
        guard let source = try? SourceURL(url) else { return "?" }
        return String(source.description.unicodeScalars.map { $0.value < 0x20 || $0 == "\"" ? "?" : Character($0) })
    }
}
