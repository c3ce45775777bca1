/// Status and headers of the last hop's answer.
package struct ResponseHead: Sendable, Hashable {
    /// The URL that answered.
    package let url: SourceURL
    /// The HTTP status; a response modifier may say another.
    package var status: Int
    /// All headers in order, at most 128 of them: printable ASCII, everything else percent-encoded, names at most 128
    /// bytes, values at most 2 KiB.
    package var headers: [HeaderField]

    package init(url: SourceURL, status: Int, headers: [HeaderField]) {
        self.url = url
        self.status = status
        self.headers = headers
    }

    /// The media type without its parameters, lower case; nil when none is told.
    package var mediaType: String? {
        guard let value = headers["Content-Type"] else { return nil }
        let type = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        return type.isEmpty ? nil : type
    }
}

/// Which answers are taken for a picture, and the order of the questions (SDWebImage 5.21.5, SDWebImageDownloader
/// acceptableStatusCodes, acceptableContentTypes and responseModifier).
package struct ResponseRules: Sendable {
    /// Statuses taken, `200 ..< 300`; nil takes every one.
    package var statuses: Range<Int>?
    /// Media types taken, lower case, without parameters; nil, the default, takes every one.
    package var mediaTypes: Set<String>?
    /// Changes the head of an answer before it is judged; nil from it fails the download as
    /// `SDWebImageErrorDomain 2003`. Redirects are followed and 304 is understood before. Called on the network thread;
    /// must not block. A request with a modifier shares its transfer with no other.
    package var modifier: (@Sendable (ResponseHead) -> ResponseHead?)?

    package init() { statuses = 200..<300 }

    /// Whether two requests may read the same answer.
    func agrees(with other: ResponseRules) -> Bool {
        statuses == other.statuses && mediaTypes == other.mediaTypes && modifier == nil && other.modifier == nil
    }

    /// The head as modified, or why the answer is refused.
    func judge(_ head: ResponseHead) throws(FetchError) -> ResponseHead {
        var head = head
        if let modifier {
            guard let modified = modifier(head) else {
                throw FetchError(
                    .badResponse, "\(head.url): the response modifier gave no answer", httpStatus: head.status)
            }
            head = modified
        }
        if let statuses, !statuses.contains(head.status) {
            throw FetchError(.badStatus, "\(head.url): HTTP status \(head.status)", httpStatus: head.status)
        }
        if let mediaTypes, let type = head.mediaType, !mediaTypes.contains(type) {
            throw FetchError(
                .badContentType, "\(head.url): the media type \(type) is not accepted", httpStatus: head.status)
        }
        if head.status == 304 {
            throw FetchError(.notModified, "\(head.url): not modified, and no copy is known", httpStatus: 304)
        }
        return head
    }
}
