import ImageModel

extension FailureReason {
    /// `the URL is empty (SDWebImageErrorDomain 1000)`.
    var text: String { "\(message) (\(domain) \(code))" }
}

/// A failure of one URL as a line of text.
enum FailureLine {
    /// The URL, unless the message begins with it, then the message, domain and code.
    static func text(_ url: String, _ error: FailureReason) -> String {
        error.message.hasPrefix(LoggedURL.text(url)) ? error.text : "\(ShownURL.text(url)): \(error.text)"
    }

    /// A message without the URL that it may begin with.
    static func withoutURL(_ message: String) -> String {
        guard message.hasPrefix("http"), let end = message.firstRange(of: ": ") else { return message }
        return String(message[end.upperBound...])
    }
}
