/// How to go on with a body that broke off: the pure part of Range and If-Range (RFC 9110, sections 13 and 14).
struct Resumption: Equatable {
    /// Bytes that are here already.
    let offset: Int64
    /// Bytes of the whole body, nil when nobody said.
    let total: Int64?
    /// A strong validator of what is here: an ETag, or a date.
    let validator: String

    /// What the answer to the second request means.
    enum Answer: Equatable {
        /// The bytes behind those that are here.
        case rest
        /// The whole body once more: what is here is void.
        case anew
        /// Of no use; the body must be asked for anew.
        case unusable
        /// No part of a body: to be judged as any other answer.
        case other
    }

    /// Nil when the origin gave nothing by which it could recognise what is here.
    init?(head: [HeaderField], offset: Int64, total: Int64?) {
        guard offset > 0, head["Accept-Ranges"]?.lowercased() != "none", head["Content-Encoding"] == nil else {
            return nil
        }
        if let etag = head["ETag"] {
            // A weak one says that two bodies mean the same, not that they are the same; a percent sign may be an
            // escape of ours.
            guard etag.hasPrefix("\""), etag.hasSuffix("\""), etag.utf8.count > 2, !etag.utf8.contains(0x25) else {
                return nil
            }
            validator = etag
        } else if let modified = head["Last-Modified"], let date = head["Date"],
            let changed = HTTPDate(modified), let answered = HTTPDate(date), answered.seconds - changed.seconds >= 60
        {
            // Only a date well before the answer's is strong: within its second the body may have changed twice.
            validator = modified
        } else {
            return nil
        }
        self.offset = offset
        self.total = total
    }

    /// What is sent beside the request's own headers.
    var headers: [HeaderField] {
        [HeaderField("Range", "bytes=\(offset)-"), HeaderField("If-Range", validator)]
    }

    /// What an answer with this status and these headers is good for.
    func judge(_ status: Int, _ head: [HeaderField]) -> Answer {
        switch status {
        case 200: return .anew
        case 206: return fits(head) ? .rest : .unusable
        case 416: return .unusable
        default: return .other
        }
    }

    private func fits(_ head: [HeaderField]) -> Bool {
        guard let range = head["Content-Range"].flatMap(ContentRange.init), range.first == offset else { return false }
        if let etag = head["ETag"], validator.hasPrefix("\""), etag != validator { return false }
        // Without a total nobody knows whether the part goes on to the end.
        guard let all = range.total else { return false }
        return range.last == all - 1 && (total == nil || total == all)
    }
}

/// `bytes 100-199/200`.
struct ContentRange: Equatable {
    let first: Int64
    let last: Int64
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
