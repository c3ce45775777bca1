import Downloader

/// A URL for output: without userinfo, its other bytes unchanged.
enum ShownURL {
    /// Also removes the part before an `@` from a malformed URL with one slash, three or none; an `@` in a path stays.
    /// Compares bytes, because an `@` can be part of a combined character.
    static func text(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        let slashes = bytes[(colon + 1)...].prefix { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let authority = bytes[slashes.endIndex...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return url }
        return String(decoding: bytes[..<authority.startIndex] + bytes[(at + 1)...], as: UTF8.self)
    }
}

/// A URL for logs: without userinfo, query and characters that could forge a line.
enum LoggedURL {
    static func text(_ url: String) -> String {
        guard let source = try? SourceURL(url) else { return "?" }
        return String(source.description.unicodeScalars.map { $0.value < 0x20 || $0 == "\"" ? "?" : Character($0) })
    }
}
