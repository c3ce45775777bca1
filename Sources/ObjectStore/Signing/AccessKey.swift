/// What signs requests, for as long as it is valid.
package struct AccessKey: Sendable, Hashable {
    /// The public id, `AKIA…`.
    package var id: String
    /// The secret; it is never sent.
    package var secret: String
    /// The token of temporary credentials; nil for permanent ones.
    package var sessionToken: String?
    /// When it expires, in seconds since 1970; nil for never.
    package var expiration: Int?

    /// Permanent credentials by default.
    package init(id: String, secret: String, sessionToken: String? = nil, expiration: Int? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}
