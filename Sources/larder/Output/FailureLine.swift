import ImageModel
import JobQueue

extension FailureReason {
    /// For people: `the URL is empty (SDWebImageErrorDomain 1000)`.
    var text: String { "\(message) (\(domain) \(code))" }
}

/// One failure as one line for people.
enum FailureLine {
    /// The URL, unless the message begins with it, the message, domain and code.
    static func text(_ url: String, _ error: FailureReason) -> String {
        let named =
            error.message.hasPrefix(LoggedURL.text(url))
            ? error.message : "\(ShownURL.text(url)): \(error.message)"
        return FailureReason(domain: error.domain, code: error.code, message: named).text
    }
}
