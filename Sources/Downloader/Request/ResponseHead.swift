/// Status and headers of a response.
public struct ResponseHead: Sendable, Hashable {
    /// The HTTP status.
    public var status: Int
    /// At most 128 headers in order: printable ASCII, other bytes percent-encoded; names at most 128 bytes, values 2
    /// KiB.
    public var headers: [HeaderField]

    /// Creates a response head.
    public init(status: Int, headers: [HeaderField] = []) {
        self.status = status
        self.headers = headers
    }

    /// In lower case without parameters; nil without `Content-Type`.
    var mediaType: String? {
        guard let value = headers["Content-Type"] else { return nil }
        let type = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        return type.isEmpty ? nil : type
    }
}

/// Accepted responses, checked in SDWebImage's order: modifier, status, media type (SDWebImage 5.21.5,
/// SDWebImageDownloader acceptableStatusCodes, acceptableContentTypes and responseModifier).
public struct ResponseRules: Sendable {
    /// Accepted statuses, `200 ..< 300` by default; nil accepts all.
    public var statuses: Range<Int>? = 200..<300
    /// Accepted media types in lower case without parameters; nil, the default, accepts all.
    public var mediaTypes: Set<String>?
    /// Replaces a response head before it is checked; nil fails the download as `SDWebImageErrorDomain 2003`.
    ///
    /// Not called for redirects and expected 304 responses. Runs on the network thread and must not block. A request
    /// with a modifier does not share its transfer.
    public var modifier: ResponseModifier?

    /// Creates rules with the defaults.
    public init() {}

    func agrees(with other: ResponseRules) -> Bool {
        statuses == other.statuses && mediaTypes == other.mediaTypes && modifier == nil && other.modifier == nil
    }

    /// The head after the modifier, or why the response is refused.
    func check(_ head: ResponseHead, of url: SourceURL) throws(FetchError) -> ResponseHead {
        var head = head
        if let modifier {
            guard let modified = modifier(head) else {
                throw FetchError(
                    .badResponse, "\(url): the response modifier returned no response", httpStatus: head.status)
            }
            head = modified
        }
        if let statuses, !statuses.contains(head.status) {
            throw FetchError(.badStatus, "\(url): HTTP status \(head.status)", httpStatus: head.status)
        }
        if let mediaTypes, let type = head.mediaType, !mediaTypes.contains(type) {
            throw FetchError(
                .badContentType, "\(url): the media type \(type) is not accepted", httpStatus: head.status)
        }
        if head.status == 304 {
            throw FetchError(.notModified, "\(url): not modified, but there is no stored copy", httpStatus: 304)
        }
        return head
    }
}

/// Replaces the status and headers of a response before they are checked; nil fails the download with error 2003.
public typealias ResponseModifier = @Sendable (ResponseHead) -> ResponseHead?
