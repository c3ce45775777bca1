public import ImageModel

/// Secrets for some origins; requests refer to a profile by name.
///
/// No part is sent to an unlisted origin, not even after a redirect.
public struct CredentialProfile: Sendable, Hashable {
    /// The origins that may receive it.
    public var origins: Set<Origin>
    /// Headers to send, such as `Authorization`.
    public var headers: [HeaderField]
    /// Cookies to send.
    public var cookies: [HeaderField]
    /// The user for Basic or Digest authentication, as the origin requests; tried once.
    public var user: String?
    /// The password for `user`.
    public var password: String?
    /// Path of a PEM file with a client certificate.
    public var certificate: String?
    /// Path of a PEM file with the key; nil if `certificate` contains it.
    public var key: String?
    /// The password of an encrypted key.
    public var keyPassword: String?
    /// Path of a PEM file of certificate authorities that replaces the system's.
    public var authorities: String?

    /// A profile without secrets.
    public init(origins: Set<Origin>) {
        self.origins = origins
        headers = []
        cookies = []
    }

    /// Whether it may be sent to `origin`.
    public func covers(_ origin: Origin) -> Bool { origins.contains(origin) }
}

extension CredentialProfile {
    /// Reads profiles by name from JSON:
    ///
    ///     {"cdn": {"origins": ["https://img.example.com"], "headers": {"Authorization": "Bearer …"},
    ///              "cookies": {"session": "…"}, "user": "…", "password": "…", "certificate": "client.pem",
    ///              "key": "client.key", "keyPassword": "…", "authorities": "ca.pem"}}
    ///
    /// Only `origins` is required. Relative paths refer to the working directory.
    ///
    /// - Throws: `VariantError` with the JSON path for anything else, including unknown fields; messages never contain
    ///   values.
    public static func profiles(json: [UInt8]) throws(VariantError) -> [String: CredentialProfile] {
        guard case .object(let values) = try JSONValue.parse(json) else {
            throw VariantError(path: "$", message: "must be an object")
        }
        var profiles: [String: CredentialProfile] = [:]
        for (name, value) in values {
            guard !name.isEmpty else { throw VariantError(path: "$", message: "has a profile with an empty name") }
            profiles[name] = try CredentialProfile(value, path: "$.\(name)")
        }
        return profiles
    }

    private init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        self.init(origins: try Self.origins(&fields))
        headers = try Self.pairs(&fields, "headers") { $0.isSendable }
        cookies = try Self.pairs(&fields, "cookies", where: Self.isCookie)
        user = try Self.text(&fields, "user")
        password = try Self.text(&fields, "password")
        certificate = try Self.text(&fields, "certificate")
        key = try Self.text(&fields, "key")
        keyPassword = try Self.text(&fields, "keyPassword")
        authorities = try Self.text(&fields, "authorities")
        try fields.finish()
        if password != nil && user == nil { throw fields.refusal("password", "requires a user") }
        if key != nil && certificate == nil { throw fields.refusal("key", "requires a certificate") }
    }

    private static func origins(_ fields: inout JSONFields) throws(VariantError) -> Set<Origin> {
        guard let value = fields.take("origins") else { throw fields.refusal("origins", "is missing") }
        guard case .array(let list) = value, !list.isEmpty else {
            throw fields.refusal("origins", "must be a list of at least one origin")
        }
        var origins: Set<Origin> = []
        for (index, value) in list.enumerated() {
            guard case .string(let text) = value, let url = try? SourceURL(text), !url.hasUserinfo,
                url.description == "\(url.origin)/"
            else { throw fields.refusal("origins[\(index)]", "must be an origin such as https://img.example.com") }
            origins.insert(url.origin)
        }
        return origins
    }

    private static func pairs(
        _ fields: inout JSONFields, _ name: String, where isValid: (HeaderField) -> Bool
    ) throws(VariantError) -> [HeaderField] {
        guard let value = fields.take(name) else { return [] }
        guard case .object(let members) = value else { throw fields.refusal(name, "must be an object") }
        var pairs: [HeaderField] = []
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            guard case .string(let text) = value, isValid(HeaderField(key, text)) else {
                throw fields.refusal("\(name).\(key)", "cannot be sent")
            }
            pairs.append(HeaderField(key, text))
        }
        return pairs
    }

    /// A text without NUL, at which libcurl would stop reading.
    private static func text(_ fields: inout JSONFields, _ name: String) throws(VariantError) -> String? {
        let text = try fields.string(name)
        if text?.utf8.contains(0) == true { throw fields.refusal(name, "must not contain NUL") }
        return text
    }

    /// RFC 6265, section 4.1.1.
    private static func isCookie(_ cookie: HeaderField) -> Bool {
        HeaderField(cookie.name, "").isSendable
            && cookie.value.utf8.allSatisfy { (0x21..<0x7f).contains($0) && !"\",;\\".utf8.contains($0) }
    }
}
