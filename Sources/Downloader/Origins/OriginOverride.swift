/// Limits of one host in place of every origin's; what is nil is not replaced.
public struct OriginOverride: Sendable, Hashable {
    /// Requests per second.
    public var rate: Double?
    /// Transfers, and so connections, at once, from 1 on.
    public var connections: Int?
    /// Transfers at once over HTTP/2, from 1 on.
    public var streams: Int?

    /// Replaces nothing.
    public init() {}
}
