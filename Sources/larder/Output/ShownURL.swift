import Foundation
import JobQueue
import Prefetcher

/// A URL as pages and reports may show it: without userinfo.
enum ShownURL {
    static func text(_ url: String) -> String {
        guard let schemeEnd = url.range(of: "://")?.upperBound else { return url }
        let rest = url[schemeEnd...]
        let authorityEnd = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard let at = rest[..<authorityEnd].lastIndex(of: "@") else { return url }
        return String(url[..<schemeEnd] + url[url.index(after: at)...])
    }
}

/// A URL as logs may show it: without userinfo and query, and nothing that could forge a line.
enum LoggedURL {
    static func text(_ url: String) -> String {
        guard let source = try? SourceURL(url) else { return "?" }
        return String(source.description.unicodeScalars.map { $0.value < 0x20 || $0 == "\"" ? "?" : Character($0) })
    }
}

/// One failure as one line for people.
enum FailureLine {
    /// The URL, unless the message begins with it, the message, domain and code.
    static func text(_ url: String, _ error: FailureReason) -> String {
        let named =
            error.message.hasPrefix(LoggedURL.text(url))
            ? error.message : "\(ShownURL.text(url)): \(error.message)"
        return "\(named) (\(error.domain) \(error.code))"
    }
}
