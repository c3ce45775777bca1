import ImageModel

extension FailureReason {
    /// `the URL is empty (SDWebImageErrorDomain 1000)`.
    var text: String { "\(message) (\(domain) \(code))" }
}

/// A failure of one URL as a line of text.
enum FailureLine {
    /// The URL, unless the message begins with it, then the message, domain and code.
    static func text(_ url: String, _ error: FailureReason) -> String {
        error.message.hasPrefix(LoggedURL.text(url)) ? error.text : "\(ShownURL.masked(url)): \(error.text)"
    }

    /// The message of a failure without its URL, with which it may begin.
    static func message(_ message: String, of url: String) -> String {
        let prefix = LoggedURL.text(url) + ": "
        return message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message
    }
}
