import JobQueue

extension FailureReason {
    /// For people: `the URL is empty (SDWebImageErrorDomain 1000)`.
    var text: String { "\(message) (\(domain) \(code))" }

    /// What is said of an item that ended with it. The queue's record of a blocked URL does not tell a block by hand from
    /// one after a failure: the blocklist does.
    var ofItem: FailureReason {
        guard domain == "SDWebImageErrorDomain", code == 1003 else { return self }
        return FailureReason(
            domain: domain, code: code, message: "the URL is blocked; 'larder blocklist list' says why and until when")
    }
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
