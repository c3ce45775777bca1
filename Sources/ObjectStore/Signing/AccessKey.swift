/// What signs requests, for as long as it is valid.
public struct AccessKey: Sendable, Hashable {
    /// The public id, `AKIA…`.
    public var id: String
    /// The secret; it is never sent.
    public var secret: String
    /// The token of temporary credentials; nil for permanent ones.
    public var sessionToken: String?
    /// When it expires, in seconds since 1970; nil for never.
    public var expiration: Int?

    /// Permanent credentials by default.
    public init(id: String, secret: String, sessionToken: String? = nil, expiration: Int? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}
