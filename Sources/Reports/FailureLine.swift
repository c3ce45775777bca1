package import ImageModel
import Terminal

extension FailureReason {
    /// `the URL is empty`; with `-v` also the code, `the URL is empty (SDWebImageErrorDomain 1000)`.
    package var text: String { Console.showsCodes ? "\(message) (\(domain) \(code))" : message }
}

package enum FailureLine {
    /// The URL, unless the message begins with it, then the message, with `-v` also domain and code. Long URLs are cut.
    package static func text(_ url: String, _ error: FailureReason) -> String {
        let logged = LoggedURL.text(url)
        guard error.message.hasPrefix(logged) else { return "\(cut(ShownURL.masked(url))): \(error.text)" }
        return cut(logged) + error.text.dropFirst(logged.count)
    }

    /// The first 200 characters; `…` replaces the rest.
    package static func cut(_ text: String) -> String {
        let start = text.prefix(200)
        return start.endIndex == text.endIndex ? text : start + "…"
    }

    /// A failure's message without a leading URL.
    package static func message(_ message: String, of url: String) -> String {
        let prefix = LoggedURL.text(url) + ": "
        return message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message
    }
}
