/// A body that arrived in full, and how; or the news that the copy one has is still good.
package struct FetchedBody: Sendable, Equatable {
    /// The URL of the last hop.
    package let url: SourceURL
    /// 200…299 by default, as `ResponseRules` and its modifier have it; 304 when the copy is still good.
    package let status: Int
    /// Bytes written, at least 1; 0 when the copy is still good.
    package let bytes: Int64
    /// SHA-256 of the bytes, 32 of them; empty when the copy is still good.
    package let sha256: [UInt8]
    /// The headers of the last hop's answer: printable ASCII, everything else percent-encoded, bounded in number and
    /// length (`ResponseHead`).
    package let headers: [HeaderField]
    /// Redirects followed.
    package let redirects: Int
    /// Times a broken transfer went on where it had stopped.
    package let resumptions: Int
    /// Whether the last hop's transfer served another request, too.
    package let shared: Bool
    /// Where the time went.
    package let timings: FetchTimings
    /// Whether the last hop used a connection that was open already.
    package let connectionReused: Bool
    /// 1 for HTTP/1.0 and 1.1, 2 for HTTP/2.
    package let httpMajor: Int

    /// Whether the origin answered a revalidation with 304: nothing was written, what one has is what there is.
    package var isNotModified: Bool { sha256.isEmpty }
    /// Headers worth keeping, at most 512 bytes each.
    package var contentType: String? { kept("Content-Type") }
    package var etag: String? { kept("ETag") }
    package var lastModified: String? { kept("Last-Modified") }
    /// All lines of that name, separated by `;`.
    package var robotsTag: String? {
        let lines = headers.filter { $0.isNamed("X-Robots-Tag") }.map(\.value)
        return lines.isEmpty ? nil : String(lines.joined(separator: ";").prefix(512))
    }

    /// The digest as 64 lower-case hexadecimal digits.
    package var sha256Hex: String { SHA256Digest.hex(sha256) }

    private func kept(_ name: String) -> String? { headers[name].map { String($0.prefix(512)) } }
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
