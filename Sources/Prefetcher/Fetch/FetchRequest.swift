/// One download into an open file.
package struct FetchRequest: Sendable {
    /// What to fetch.
    package var url: SourceURL
    /// Where the body goes: an open descriptor, written from its current position and never closed.
    /// It belongs to the caller, who must keep it open until `fetch` has returned; it is not touched after that.
    /// When the download fails it holds a part of the body or nothing.
    package var descriptor: Int32
    /// Limits instead of the downloader's.
    package var limits: FetchLimits?
    /// A policy instead of the downloader's.
    package var policy: AddressPolicy?
    /// Judges the first bytes (at most 4 KiB): true to go on, false when they are no image wanted here, nil to
    /// see more. Called on the network thread; must not block.
    package var accepts: @Sendable (UnsafeRawBufferPointer) -> Bool?

    package init(
        url: SourceURL, descriptor: Int32, limits: FetchLimits? = nil, policy: AddressPolicy? = nil,
        accepts: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool? = { _ in true }
    ) {
        self.url = url
        self.descriptor = descriptor
        self.limits = limits
        self.policy = policy
        self.accepts = accepts
    }
}

/// A body that arrived in full, and how.
package struct FetchedBody: Sendable, Equatable {
    /// The URL of the last hop.
    package let url: SourceURL
    /// 200…299.
    package let status: Int
    /// Bytes written, at least 1.
    package let bytes: Int64
    /// SHA-256 of the bytes, 32 of them.
    package let sha256: [UInt8]
    /// Headers of the answer worth keeping: printable ASCII, everything else percent-encoded, at most 512 bytes each.
    package let contentType: String?
    package let etag: String?
    package let lastModified: String?
    package let robotsTag: String?
    /// Redirects followed.
    package let redirects: Int
    /// Where the time went.
    package let timings: FetchTimings
    /// Whether the last hop used a connection that was open already.
    package let connectionReused: Bool
    /// 1 for HTTP/1.0 and 1.1, 2 for HTTP/2.
    package let httpMajor: Int

    /// The digest as 64 lower-case hexadecimal digits.
    package var sha256Hex: String { SHA256Digest.hex(sha256) }
}

/// Durations of one download; those of several hops are added up.
package struct FetchTimings: Sendable, Equatable {
    /// Waiting for a free connection.
    package var queued: Duration = .zero
    /// Name look-ups.
    package var lookup: Duration = .zero
    /// TCP and TLS handshakes.
    package var connect: Duration = .zero
    /// From the start of a transfer to the first byte of its answer.
    package var firstByte: Duration = .zero
    /// Transfers themselves, handshakes included.
    package var exchanged: Duration = .zero
    /// From asking to the last byte, waiting included.
    package var total: Duration = .zero

    package init() {}
}
