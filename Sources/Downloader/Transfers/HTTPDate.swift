private import CCurl

/// A date of an HTTP header. The corresponding C function is `curl_getdate`.
struct HTTPDate {
    /// Seconds since 1970.
    let seconds: Int64

    init?(_ text: String) {
        let seconds = curl_getdate(text, nil)
        guard seconds >= 0 else { return nil }
        self.seconds = Int64(seconds)
    }
}
