package import DiskCache
package import Downloader

/// A failure of an object store, or of the connection to it.
package struct ObjectStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, from the error code of the server's response or from its status.
    package enum Code: String, Sendable {
        /// The bucket does not exist.
        case noBucket
        /// The object, or the multipart upload, does not exist.
        case noObject
        /// `If-Match` or `If-None-Match` does not hold.
        case preconditionFailed
        /// The credentials do not permit the operation.
        case accessDenied
        /// There are no credentials, or the server does not accept them.
        case badCredentials
        /// The service issuing the credentials was unreachable or failed.
        case noCredentials
        /// This machine's clock differs too much from the server's.
        case clockSkewed
        /// The server's certificate is not accepted.
        case untrusted
        /// The bucket has another region or address.
        case otherRegion
        /// The server asks for fewer requests.
        case throttled
        /// The server failed, or ended a slow request.
        case serverFailed
        /// The received bytes do not match their digest.
        case badDigest
        /// Another write of the same object is under way.
        case conflict
        /// The server does not offer the operation.
        case unsupported
        /// The server was not reached, or the connection was lost.
        case unreachable
        /// The circuit is open after too many failures.
        case held
        /// This machine lacks memory, descriptors or a route.
        case localFault
        /// A local file, of the body or of a response, cannot be used.
        case fileFailed
        /// An address or a setting cannot be used.
        case invalidAddress
        /// The caller no longer permits the request; it was not sent.
        case withdrawn
        /// Any other refusal, or an unparsable response.
        case refused
    }

    package let code: Code
    /// One line; it contains no secret.
    package let message: String
    /// The status of the response; nil without one.
    package let status: Int?

    /// A failure without a server's explanation.
    package init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    /// The failure in a response.
    ///
    /// - Parameter body: the beginning of its body, usually XML.
    init(status: Int, body: [UInt8]) {
        let document = XMLNode(body)
        let error = document?.name == "ErrorResponse" ? document?["Error"] : document
        let word = error?["Code"]?.text ?? ""
        let said = error?["Message"]?.text ?? ""
        let detail = [word, said].filter { !$0.isEmpty }.joined(separator: ": ")
        self.init(
            Self.codes[word] ?? Self.code(of: status),
            "HTTP status \(status)" + (detail.isEmpty ? "" : ", " + Self.printable(detail)), status: status)
    }

    /// A failure of the transfer.
    package init(_ error: FetchError) {
        let code: Code =
            switch error.code {
            case .localFault: .localFault
            case .originHeld: .held
            case .writeFailed: .fileFailed
            case .invalidURL, .unsupportedScheme, .invalidOperation: .invalidAddress
            case .certificateRefused: .untrusted
            case .addressRefused, .portRefused: .refused
            // Longer than any response that is parsed.
            case .bodyTooLarge: .refused
            default: .unreachable
            }
        self.init(code, error.message, status: error.httpStatus)
    }

    /// Whether the same request may succeed a moment later.
    package var isTransient: Bool {
        switch code {
        case .throttled, .serverFailed, .badDigest, .conflict, .unreachable: true
        default: false
        }
    }

    package var description: String { message }

    /// Error codes of S3 and compatible servers.
    private static let codes: [String: Code] = [
        "NoSuchBucket": .noBucket, "NoSuchKey": .noObject, "NoSuchUpload": .noObject,
        "PreconditionFailed": .preconditionFailed, "AccessDenied": .accessDenied, "AllAccessDisabled": .accessDenied,
        "AccountProblem": .accessDenied, "InvalidAccessKeyId": .badCredentials,
        "SignatureDoesNotMatch": .badCredentials, "ExpiredToken": .badCredentials, "InvalidToken": .badCredentials,
        "TokenRefreshRequired": .badCredentials, "ExpiredTokenException": .badCredentials,
        "InvalidIdentityToken": .badCredentials, "RequestTimeTooSkewed": .clockSkewed, "RequestExpired": .clockSkewed,
        "PermanentRedirect": .otherRegion, "TemporaryRedirect": .otherRegion,
        "AuthorizationHeaderMalformed": .otherRegion, "IllegalLocationConstraintException": .otherRegion,
        "SlowDown": .throttled, "ServiceUnavailable": .throttled, "Throttling": .throttled,
        "TooManyRequests": .throttled, "InternalError": .serverFailed, "RequestTimeout": .serverFailed,
        "BadDigest": .badDigest, "InvalidDigest": .badDigest, "XAmzContentSHA256Mismatch": .badDigest,
        "XAmzContentChecksumMismatch": .badDigest, "IncompleteBody": .badDigest,
        "OperationAborted": .conflict, "ConditionalRequestConflict": .conflict, "NotImplemented": .unsupported,
    ]

    private static func code(of status: Int) -> Code {
        switch status {
        case 300..<400: .otherRegion
        case 401, 403: .accessDenied
        case 404: .noObject
        case 409: .conflict
        case 412: .preconditionFailed
        case 429, 503: .throttled
        case 501: .unsupported
        case 500..<600: .serverFailed
        default: .refused
        }
    }

    private static func printable(_ text: String) -> String {
        String(text.unicodeScalars.prefix(300).map { $0.value < 0x20 || $0.value == 0x7f ? " " : Character($0) })
    }
}

extension StoreError {
    /// Converts an object store's failure to a store's.
    ///
    /// - Parameter operation: the words after "cannot", such as `upload`.
    package init(_ error: ObjectStoreError, _ operation: String, _ path: String) {
        let code: Code =
            switch error.code {
            case .noBucket, .noObject: .missing
            case .preconditionFailed, .conflict: .busy
            case .accessDenied, .badCredentials: .permission
            case .clockSkewed: .clockSkewed
            case .unsupported: .unsupported
            // A request's wrong digest says nothing about the object.
            case .throttled, .serverFailed, .unreachable, .badDigest: .unreachable
            case .held, .untrusted, .otherRegion, .noCredentials: .unavailable
            case .localFault: .machine
            case .invalidAddress: .invalidName
            case .fileFailed, .refused, .withdrawn: .inputOutput
            }
        self.init(code, operation, path, cause: error.message)
    }
}
