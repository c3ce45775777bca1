/// One request to one origin, everything about it decided: what a hop asks of libcurl.
struct Exchange: Sendable {
    let url: SourceURL
    /// The approved addresses, the only ones libcurl gets to know.
    let addresses: [IPAddress]
    let descriptor: Int32
    let limits: FetchLimits
    /// What is left of the total limit.
    let timeLeft: Duration
    let policy: AddressPolicy
    let accepts: @Sendable (UnsafeRawBufferPointer) -> Bool?
}

/// The answer to an exchange that did not fail.
struct Reply: Sendable {
    enum Outcome: Sendable {
        case body(bytes: Int64, sha256: [UInt8])
        /// The `Location` header as sent.
        case redirect([UInt8])
    }

    let outcome: Outcome
    let status: Int
    let headers: [HeaderField]
    let queued: Duration
    let connect: Duration
    let firstByte: Duration
    let total: Duration
    let connectionReused: Bool
    let httpMajor: Int
}

extension Duration {
    /// Whole milliseconds, at least 1 because libcurl takes 0 for no limit.
    var curlMilliseconds: Int {
        let (seconds, attoseconds) = components
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }

    /// Whole seconds, rounded up, at least 1.
    var curlSeconds: Int {
        let (seconds, attoseconds) = components
        return max(1, Int(seconds) + (attoseconds > 0 ? 1 : 0))
    }
}
