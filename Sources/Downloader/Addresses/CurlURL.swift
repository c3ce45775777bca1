internal import CCurl

/// A URL parsed by libcurl. The corresponding C type is `CURLU`.
struct CurlURL: ~Copyable {
    private let handle: OpaquePointer

    /// Nil only when memory is short.
    init?() {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// Sets a part; a whole URL is resolved as a reference to the present one. False when it is malformed.
    func set(_ part: CURLUPart, _ text: String?, _ flags: Int32 = 0) -> Bool {
        curl_url_set(handle, part, text, UInt32(flags)) == CURLUE_OK
    }

    /// A part; nil when it is missing or has no such form.
    func get(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
