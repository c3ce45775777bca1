private import CCurl

/// Continues a broken body by Range and If-Range (RFC 9110, sections 13 and 14).
struct Resumption: Equatable {
    /// Received bytes.
    private let offset: Int64
    /// Length of the whole body; nil if unknown.
    private let total: Int64?
    /// A strong validator of the received bytes: an ETag or a date.
    private let validator: String

    enum Answer: Equatable {
        /// The following bytes.
        case rest
        /// The whole body again.
        case whole
        /// A range that does not fit, or no body: request the body again without a range.
        case unusable
        /// A response without a body, checked like any other.
        case other
    }

    /// Nil if the response has no strong validator.
    init?(head: [HeaderField], offset: Int64, total: Int64?) {
        guard offset > 0, head["Accept-Ranges"]?.lowercased() != "none", head["Content-Encoding"] == nil else {
            return nil
        }
        if let etag = head["ETag"] {
            // A weak ETag does not guarantee equal bytes, and a percent sign may be our own escape.
            guard etag.hasPrefix("\""), etag.hasSuffix("\""), etag.utf8.count > 2, !etag.utf8.contains(0x25) else {
                return nil
            }
            validator = etag
        } else if let modified = head["Last-Modified"], let date = head["Date"],
            let changed = Self.seconds(modified), let answered = Self.seconds(date), answered - changed >= 60
        {
            // RFC 9110, section 8.8.2.2: a date is strong if it is well before the response.
            validator = modified
        } else {
            return nil
        }
        self.offset = offset
        self.total = total
    }

    var headers: [HeaderField] {
        [HeaderField("Range", "bytes=\(offset)-"), HeaderField("If-Range", validator)]
    }

    func judge(_ head: ResponseHead) -> Answer {
        switch head.status {
        case 200: .whole
        case 206: fits(head.headers) ? .rest : .unusable
        // The received bytes are this URL's: they cannot continue another URL's body or a stored copy.
        case 300..<400, 416: .unusable
        default: .other
        }
    }

    /// An HTTP date in seconds since 1970; nil if invalid. Uses `curl_getdate`.
    private static func seconds(_ date: String) -> Int? {
        let seconds = curl_getdate(date, nil)
        return seconds < 0 ? nil : seconds
    }

    private func fits(_ head: [HeaderField]) -> Bool {
        guard let range = head["Content-Range"].flatMap(ContentRange.init), range.first == offset else { return false }
        if let etag = head["ETag"], validator.hasPrefix("\""), etag != validator { return false }
        // Without a total the range may end before the body.
        guard let all = range.total else { return false }
        return range.last == all - 1 && (total == nil || total == all)
    }
}

/// A `Content-Range` header, such as `bytes 100-199/200`.
struct ContentRange: Equatable {
    let first: Int64
    let last: Int64
    /// Nil for `*`.
    let total: Int64?

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        self.first = first
        self.last = last
        if parts[1] == "*" {
            total = nil
        } else {
            guard let all = Self.number(parts[1]), last < all else { return nil }
            total = all
        }
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
