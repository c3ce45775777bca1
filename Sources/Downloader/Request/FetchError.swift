public import ImageModel

/// A failed download, with SDWebImage's domain and code if it has them.
public struct FetchError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure, for decisions; `domain` and `domainCode` are recorded.
    public enum Code: Sendable, Equatable, CaseIterable {
        case invalidURL, unsupportedScheme
        case addressRefused, portRefused, downgradeRefused, robotsRefused, originHeld
        case nameNotFound, cannotConnect, connectionLost, timedOut
        case handshakeFailed, certificateRefused
        case tooManyRedirects, badServerResponse, badContentEncoding, loginDenied, transportFailed
        case badStatus, badImageData, bodyTooLarge, writeFailed, cancelled
        /// 304 without a stored copy.
        case notModified
        /// The request's headers or method cannot be sent.
        case invalidOperation
        case badResponse, badContentType
        case fileNotFound, fileNotRegular, fileNotPermitted, fileReadFailed
        /// This machine lacks something that every download needs: a route, name server, descriptors, memory, disk
        /// space or certificates. With `profile`: the request's credential profile, or a file that it names.
        case localFault
        /// The first bytes declare a size over a limit.
        case pixelsExceeded, edgeExceeded, framesExceeded
    }

    /// The kind of failure.
    public let code: Code
    /// One line with the URL (without userinfo and query), and the limit and value if there is one.
    public private(set) var message: String
    /// The status of the last response; nil without one.
    public let httpStatus: Int?
    /// The origin's `Retry-After` or the rest of its pause, 1 s … 1 h.
    public let retryAfter: Duration?
    /// libcurl's result code if libcurl failed.
    public let curlCode: Int32?
    /// With `localFault`: the unusable credential profile, if only its requests are affected. Escaped, at most 64
    /// characters.
    public let profile: String?
    /// The part of this machine that may be the cause; nil for none. `LocalEvidence` decides.
    package let localCause: LocalCause?

    /// The settings, with values, that would allow the refused download.
    package private(set) var needs: [RequiredSetting] = []

    /// Creates an error.
    public init(
        _ code: Code, _ message: String, httpStatus: Int? = nil, retryAfter: Duration? = nil, curlCode: Int32? = nil,
        profile: String? = nil
    ) {
        self.init(
            code, message, httpStatus: httpStatus, retryAfter: retryAfter, curlCode: curlCode, profile: profile,
            localCause: nil)
    }

    package init(
        _ code: Code, _ message: String, httpStatus: Int? = nil, retryAfter: Duration? = nil, curlCode: Int32? = nil,
        profile: String? = nil, localCause: LocalCause?
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
        self.curlCode = curlCode
        self.profile = profile
        self.localCause = localCause
    }

    /// The same error with the settings that the download needs, listed in the message.
    package func needing(_ settings: [RequiredSetting]) -> FetchError {
        var copy = self
        copy.message += RequiredSetting.hint(settings)
        copy.needs = settings
        return copy
    }

    /// Domain and code.
    public var failureCode: FailureCode { code.failureCode }
    /// One of `FailureCode.Domain`.
    public var domain: String { failureCode.domain }
    /// The number within `domain`.
    public var domainCode: Int { failureCode.code }

    /// One line: domain, code and message.
    public var description: String { "\(message) (\(domain) \(domainCode))" }
}

extension FetchError.Code {
    /// Domain and code, as recorded.
    public var failureCode: FailureCode {
        switch self {
        case .invalidURL: .invalidURL
        case .badImageData: .badImageData
        case .notModified: .notModified
        case .invalidOperation: .invalidOperation
        case .badStatus: .badStatus
        case .cancelled: .cancelled
        case .badResponse: .badResponse
        case .badContentType: .badContentType
        case .transportFailed: .transportFailed
        case .timedOut: .timedOut
        case .unsupportedScheme: .unsupportedScheme
        case .nameNotFound: .nameNotFound
        case .cannotConnect: .cannotConnect
        case .connectionLost: .connectionLost
        case .tooManyRedirects: .tooManyRedirects
        case .badServerResponse: .badServerResponse
        case .loginDenied: .loginDenied
        case .badContentEncoding: .badContentEncoding
        case .handshakeFailed: .handshakeFailed
        case .certificateRefused: .certificateRefused
        case .addressRefused: .addressRefused
        case .portRefused: .portRefused
        case .downgradeRefused: .downgradeRefused
        case .robotsRefused: .robotsRefused
        case .originHeld: .originHeld
        case .fileNotFound: .fileNotFound
        case .fileNotRegular: .fileNotRegular
        case .fileNotPermitted: .fileNotPermitted
        case .fileReadFailed: .fileReadFailed
        case .bodyTooLarge: .bodyTooLarge
        case .pixelsExceeded: .pixelsExceeded
        case .edgeExceeded: .edgeExceeded
        case .framesExceeded: .framesExceeded
        case .writeFailed: .storeFailed
        case .localFault: .localFault
        }
    }
}
