internal import ImageModel

/// The failure of a download, with SDWebImage's domain and code where it has one.
public struct FetchError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure, which decisions are based on; `domain` and `domainCode` are recorded.
    public enum Code: Sendable, Equatable, CaseIterable {
        case invalidURL, unsupportedScheme
        case addressRefused, portRefused, downgradeRefused, robotsRefused, originHeld
        case nameNotFound, cannotConnect, connectionLost, timedOut
        case handshakeFailed, certificateRefused
        case tooManyRedirects, badServerResponse, badContentEncoding, loginDenied, transportFailed
        case badStatus, badImageData, bodyTooLarge, writeFailed, cancelled
        /// 304 without a stored copy.
        case notModified
        /// The request cannot be sent: its headers or its method.
        case invalidOperation
        case badResponse, badContentType
        /// This machine lacks what every download needs: a route, a name server, descriptors, memory, disk space, a
        /// file of certificates; or the credential profile that a job names.
        case localFault
        /// The first bytes declare a size over a limit.
        case pixelsExceeded, edgeExceeded, framesExceeded
    }

    /// What went wrong.
    public let code: Code
    /// One line that names the URL (without userinfo and query), the limit and its value where there is one.
    public let message: String
    /// The status of the last response; nil without one.
    public let httpStatus: Int?
    /// The origin's `Retry-After` or the rest of a hold, 1 s … 1 h.
    public let retryAfter: Duration?
    /// libcurl's result code, where libcurl failed.
    public let curlCode: Int32?

    /// Creates an error.
    public init(
        _ code: Code, _ message: String, httpStatus: Int? = nil, retryAfter: Duration? = nil, curlCode: Int32? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
        self.curlCode = curlCode
    }

    /// `SDWebImageErrorDomain`, `NSURLErrorDomain` or `LarderErrorDomain`.
    public var domain: String { identity.domain }
    /// The number within `domain`.
    public var domainCode: Int { identity.code }

    /// One line: domain, code and message.
    public var description: String { "\(message) (\(domain) \(domainCode))" }

    private var identity: (domain: String, code: Int) {
        let webImage = "SDWebImageErrorDomain"
        let transport = "NSURLErrorDomain"
        let larder = "LarderErrorDomain"
        return switch code {
        case .invalidURL: (webImage, 1000)
        case .badImageData: (webImage, 1001)
        case .notModified: (webImage, 1002)
        case .invalidOperation: (webImage, 2000)
        case .badStatus: (webImage, 2001)
        case .cancelled: (webImage, 2002)
        case .badResponse: (webImage, 2003)
        case .badContentType: (webImage, 2004)
        case .transportFailed: (transport, -1)
        case .timedOut: (transport, -1001)
        case .unsupportedScheme: (transport, -1002)
        case .nameNotFound: (transport, -1003)
        case .cannotConnect: (transport, -1004)
        case .connectionLost: (transport, -1005)
        case .tooManyRedirects: (transport, -1007)
        case .badServerResponse: (transport, -1011)
        case .loginDenied: (transport, -1013)
        case .badContentEncoding: (transport, -1016)
        case .handshakeFailed: (transport, -1200)
        case .certificateRefused: (transport, -1202)
        case .addressRefused: (larder, 101)
        case .portRefused: (larder, 102)
        case .downgradeRefused: (larder, 103)
        case .robotsRefused: (larder, 104)
        case .originHeld: (larder, 106)
        case .bodyTooLarge: (larder, 201)
        case .pixelsExceeded: (larder, 202)
        case .edgeExceeded: (larder, 203)
        case .framesExceeded: (larder, 204)
        case .writeFailed: (larder, 403)
        case .localFault: (larder, FailureReason.localFault)
        }
    }
}
