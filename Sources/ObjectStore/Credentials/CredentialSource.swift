/// The source of an object store's credentials.
package enum CredentialSource: Sendable, Hashable {
    /// The default profile in the shared credentials file.
    package static let defaultProfile = "default"
    private static let containerHost = "http://169.254.170.2"

    /// Given once.
    case fixed(AccessKey)
    /// A profile of the shared credentials file, read again every minute.
    case file(path: String, profile: String)
    /// A container's credentials endpoint, with an authorization token or a file containing it.
    case container(url: String, token: String?, tokenFile: String?)
    /// The STS at `endpoint` exchanges the token in a file for a role's credentials.
    case webIdentity(tokenFile: String, role: String, session: String, endpoint: String)

    /// The issuing service, in words.
    var service: String {
        switch self {
        case .fixed: "the environment"
        case .file: "the shared credentials file"
        case .container: "the container's credentials endpoint"
        case .webIdentity: "the security token service"
        }
    }

    /// The first source named in the environment: `AWS_ACCESS_KEY_ID` with `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`; `AWS_WEB_IDENTITY_TOKEN_FILE` with `AWS_ROLE_ARN`; `AWS_CONTAINER_CREDENTIALS_FULL_URI` or
    /// `…_RELATIVE_URI`; else the profile `AWS_PROFILE` of `AWS_SHARED_CREDENTIALS_FILE`. A named profile precedes the
    /// container.
    ///
    /// - Parameters:
    ///   - home: the home directory, whose `.aws/credentials` is the default file.
    ///   - region: the default STS's region.
    /// - Throws: `badCredentials` if the environment names none.
    package init(
        environment: [String: String], home: String?, region: String
    ) throws(ObjectStoreError) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let file = value("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { $0 + "/.aws/credentials" }
        if let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") {
            self = .fixed(AccessKey(id: id, secret: secret, sessionToken: value("AWS_SESSION_TOKEN")))
        } else if let tokenFile = value("AWS_WEB_IDENTITY_TOKEN_FILE"), let role = value("AWS_ROLE_ARN") {
            self = .webIdentity(
                tokenFile: tokenFile, role: role, session: value("AWS_ROLE_SESSION_NAME") ?? "larder",
                endpoint: value("AWS_ENDPOINT_URL_STS") ?? "https://sts.\(region).amazonaws.com")
        } else if let profile = value("AWS_PROFILE"), let file {
            self = .file(path: file, profile: profile)
        } else if let url = value("AWS_CONTAINER_CREDENTIALS_FULL_URI")
            ?? value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map({ Self.containerHost + $0 })
        {
            self = .container(
                url: url, token: value("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                tokenFile: value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"))
        } else if let file {
            self = .file(path: file, profile: Self.defaultProfile)
        } else {
            throw ObjectStoreError(.badCredentials, "the environment names no credentials for the object store")
        }
    }
}
