import Downloader
import ObjectStore
import Prefetcher

/// A URL for output, without userinfo.
package enum ShownURL {
    /// Query parameters whose values let any reader fetch the image: signatures and tokens, in lower case.
    private static let secrets: Set<String> = [
        "x-amz-signature", "x-amz-security-token", "x-goog-signature", "x-oss-signature", "sig", "signature", "token",
        "access_token", "auth_key", "hdnts", "hdnea",
    ]

    /// A URL or cache key for readers, without the values of signatures and tokens. Use `text` if a program passes the
    /// value back, such as `url` in JSON; `key` in JSON is the key itself. Compares scalars, because a separator can be
    /// part of a combined character.
    package static func masked(_ url: String) -> String {
        let shown = text(url), scalars = shown.unicodeScalars
        guard let query = shown.utf8.firstIndex(of: UInt8(ascii: "?")) else { return shown }
        let end = scalars[query...].firstIndex(of: "#") ?? scalars.endIndex
        let parameters = scalars[query..<end].dropFirst().split(separator: "&", omittingEmptySubsequences: false)
        let masked = parameters.map { parameter in
            guard let equals = parameter.firstIndex(of: "="),
                secrets.contains(String(parameter[..<equals]).lowercased())
            else { return String(parameter) }
            return String(parameter[...equals]) + "***"
        }
        return String(scalars[...query]) + masked.joined(separator: "&") + String(scalars[end...])
    }

    /// Only userinfo is removed; other bytes are unchanged.
    ///
    /// Also removes the part before an `@` from a malformed URL with one slash, three or none; an `@` in a path stays.
    /// Compares bytes, because an `@` can be part of a combined character.
    package static func text(_ url: String) -> String {
        guard url.utf8.contains(UInt8(ascii: "@")) else { return url }
        let bytes = Array(url.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        let slashes = bytes[(colon + 1)...].prefix { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let authority = bytes[slashes.endIndex...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return url }
        return String(decoding: bytes[..<authority.startIndex] + bytes[(at + 1)...], as: UTF8.self)
    }
}

/// A URL for logs: without userinfo, query and characters that could forge a line.
package enum LoggedURL {
    /// Scheme, host and port, or the bucket, or `file://`; `?` for an invalid URL.
    package static func origin(_ url: String) -> String {
        if let object = try? ObjectURL(url) { return printable(object.bucketURL) }
        if FileURL.isFile(url) { return "file://" }
        return (try? Origin(of: url))?.description ?? "?"
    }

    package static func text(_ url: String) -> String {
        if let object = try? ObjectURL(url) { return printable(object.description) }
        if FileURL.isFile(url) { return printable(url) }
        guard let source = try? SourceURL(url) else { return "?" }
        return printable(source.description)
    }

    private static func printable(_ text: String) -> String {
        String(text.unicodeScalars.map { $0.value < 0x20 || $0 == "\"" ? "?" : Character($0) })
    }
}
