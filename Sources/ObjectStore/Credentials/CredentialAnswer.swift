private import FoundationEssentials
private import ImageModel

/// The responses of the services that issue temporary credentials.
package enum CredentialAnswer {
    /// The JSON of a container's endpoint.
    ///
    /// - Throws: `badCredentials` for anything else.
    package static func container(_ body: [UInt8]) throws(ObjectStoreError) -> AccessKey {
        guard case .object(let fields)? = try? JSONValue.parse(body),
            case .string(let id)? = fields["AccessKeyId"], case .string(let secret)? = fields["SecretAccessKey"]
        else { throw ObjectStoreError(.badCredentials, "the container's credentials endpoint returned no keys") }
        func text(_ name: String) -> String? { if case .string(let text)? = fields[name] { text } else { nil } }
        return AccessKey(
            id: id, secret: secret, sessionToken: text("Token"), expiration: text("Expiration").flatMap(seconds))
    }

    /// The XML of `AssumeRoleWithWebIdentity`.
    ///
    /// - Throws: `badCredentials` for anything else.
    package static func webIdentity(_ body: [UInt8]) throws(ObjectStoreError) -> AccessKey {
        let keys = XMLNode(body)?["AssumeRoleWithWebIdentityResult"]?["Credentials"]
        guard let keys, let id = keys["AccessKeyId"]?.text, let secret = keys["SecretAccessKey"]?.text else {
            throw ObjectStoreError(.badCredentials, "the security token service returned no keys")
        }
        return AccessKey(
            id: id, secret: secret, sessionToken: keys["SessionToken"]?.text,
            expiration: keys["Expiration"].flatMap { seconds($0.text) })
    }

    /// Seconds since 1970 of `2026-11-25T01:02:03Z`, with or without a fraction.
    package static func seconds(_ text: String) -> Int? {
        let date = try? Date(String(text.prefix(19)) + "Z", strategy: .iso8601)
        return date.map { Int($0.timeIntervalSince1970) }
    }
}
