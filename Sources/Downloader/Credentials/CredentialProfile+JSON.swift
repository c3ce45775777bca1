internal import Foundation

/// Why a file of credential profiles cannot be used.
public struct CredentialProfileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The JSON path, such as `$.cdn.origins[0]`, and the error there, without any value.
    public let description: String
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
    /// - Throws: `CredentialProfileError` for anything else, unknown fields included.
    public static func profiles(json: [UInt8]) throws(CredentialProfileError) -> [String: CredentialProfile] {
        let root: Any
        do {
            root = try JSONSerialization.jsonObject(with: Data(json))
        } catch {
            throw CredentialProfileError(description: "the credential profiles are not JSON")
        }
        var profiles: [String: CredentialProfile] = [:]
        for (name, value) in try ProfileJSON(root, "$").object() {
            guard !name.isEmpty else { throw CredentialProfileError(description: "$: a profile has an empty name") }
            profiles[name] = try profile(value)
        }
        return profiles
    }

    private static func profile(_ value: ProfileJSON) throws(CredentialProfileError) -> CredentialProfile {
        let fields = try value.object()
        guard let origins = fields["origins"] else { throw value.error("'origins' is missing") }
        var profile = CredentialProfile(origins: [])
        for origin in try origins.list() { profile.origins.insert(try self.origin(origin)) }
        if profile.origins.isEmpty { throw origins.error("at least one origin is expected") }
        for (name, field) in fields {
            switch name {
            case "origins": break
            case "headers": profile.headers = try pairs(field) { $0.isSendable }
            case "cookies": profile.cookies = try pairs(field, where: isCookie)
            case "user": profile.user = try field.text()
            case "password": profile.password = try field.text()
            case "certificate": profile.certificate = try field.text()
            case "key": profile.key = try field.text()
            case "keyPassword": profile.keyPassword = try field.text()
            case "authorities": profile.authorities = try field.text()
            default: throw field.error("an unknown field")
            }
        }
        if profile.password != nil && profile.user == nil { throw value.error("'password' without 'user'") }
        if profile.key != nil && profile.certificate == nil { throw value.error("'key' without 'certificate'") }
        return profile
    }

    private static func origin(_ value: ProfileJSON) throws(CredentialProfileError) -> Origin {
        let text = try value.text()
        guard let url = try? SourceURL(text), !url.hasUserinfo, url.description == "\(url.origin)/" else {
            throw value.error("an origin such as https://img.example.com is expected")
        }
        return url.origin
    }

    private static func pairs(
        _ value: ProfileJSON, where isGood: (HeaderField) -> Bool
    ) throws(CredentialProfileError) -> [HeaderField] {
        var fields: [HeaderField] = []
        for (name, text) in try value.object().sorted(by: { $0.key < $1.key }) {
            let field = HeaderField(name, try text.text())
            guard isGood(field) else { throw text.error("this cannot be sent") }
            fields.append(field)
        }
        return fields
    }

    /// RFC 6265, section 4.1.1.
    private static func isCookie(_ cookie: HeaderField) -> Bool {
        let value = cookie.value.utf8
        return HeaderField(cookie.name, "").isSendable
            && value.allSatisfy { (0x21..<0x7f).contains($0) && !"\",;\\".utf8.contains($0) }
    }
}

/// A JSON value and its path; messages contain the path, never the value, which may be a secret.
private struct ProfileJSON {
    private let value: Any
    private let path: String

    init(_ value: Any, _ path: String) {
        self.value = value
        self.path = path
    }

    func error(_ message: String) -> CredentialProfileError {
        CredentialProfileError(description: "\(path): \(message)")
    }

    func object() throws(CredentialProfileError) -> [String: ProfileJSON] {
        guard let fields = value as? [String: Any] else { throw error("an object is expected") }
        return Dictionary(uniqueKeysWithValues: fields.map { ($0, ProfileJSON($1, "\(path).\($0)")) })
    }

    func list() throws(CredentialProfileError) -> [ProfileJSON] {
        guard let values = value as? [Any] else { throw error("a list is expected") }
        return values.enumerated().map { ProfileJSON($1, "\(path)[\($0)]") }
    }

    func text() throws(CredentialProfileError) -> String {
        guard let text = value as? String, !text.utf8.contains(0) else { throw error("a text is expected") }
        return text
    }
}
