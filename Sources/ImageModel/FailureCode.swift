/// The name of an error: a domain and a code within it. The constants are all that Larder reports about images.
///
/// Source: SDWebImage 5.21.5, `SDWebImageErrorDomain`; Foundation, `NSURLErrorDomain`.
public struct FailureCode: Sendable, Hashable {
    /// The names of the domains.
    public enum Domain {
        /// The errors that SDWebImage has.
        public static let webImage = "SDWebImageErrorDomain"
        /// The errors of transfers that Foundation has.
        public static let transport = "NSURLErrorDomain"
        /// All other errors. Codes below 100 are the command line's.
        public static let larder = "LarderErrorDomain"
    }

    /// The domain.
    public let domain: String
    /// The code within the domain.
    public let code: Int

    /// Creates a name from its parts.
    public init(domain: String, code: Int) {
        self.domain = domain
        self.code = code
    }

    private static func webImage(_ code: Int) -> FailureCode { FailureCode(domain: Domain.webImage, code: code) }
    private static func transport(_ code: Int) -> FailureCode { FailureCode(domain: Domain.transport, code: code) }
    private static func larder(_ code: Int) -> FailureCode { FailureCode(domain: Domain.larder, code: code) }

    /// The URL is empty or malformed.
    public static let invalidURL = webImage(1000)
    /// Not an image, a format that is not accepted, or an original that cannot be decoded.
    public static let badImageData = webImage(1001)
    /// 304 without a stored copy.
    public static let notModified = webImage(1002)
    /// The URL is blocked.
    public static let blocked = webImage(1003)
    /// The request cannot be sent.
    public static let invalidOperation = webImage(2000)
    /// An HTTP status outside 200–299.
    public static let badStatus = webImage(2001)
    /// The task or the job was cancelled.
    public static let cancelled = webImage(2002)
    /// A response modifier refused the response.
    public static let badResponse = webImage(2003)
    /// The `Content-Type` is not accepted.
    public static let badContentType = webImage(2004)

    /// Another failure of a transfer.
    public static let transportFailed = transport(-1)
    /// `NSURLErrorCancelled`, which Larder never reports itself.
    public static let transportCancelled = transport(-999)
    /// No response in time.
    public static let timedOut = transport(-1001)
    /// The scheme is neither http nor https.
    public static let unsupportedScheme = transport(-1002)
    /// The host has no address.
    public static let nameNotFound = transport(-1003)
    /// No connection.
    public static let cannotConnect = transport(-1004)
    /// The connection was lost, or the body cut short.
    public static let connectionLost = transport(-1005)
    /// More redirects than allowed.
    public static let tooManyRedirects = transport(-1007)
    /// `NSURLErrorNotConnectedToInternet`, which Larder never reports itself.
    public static let notConnected = transport(-1009)
    /// The response is malformed.
    public static let badServerResponse = transport(-1011)
    /// The origin refuses the credentials.
    public static let loginDenied = transport(-1013)
    /// The `Content-Encoding` cannot be decoded.
    public static let badContentEncoding = transport(-1016)
    /// `NSURLErrorInternationalRoamingOff`, which Larder never reports itself.
    public static let roamingOff = transport(-1018)
    /// `NSURLErrorDataNotAllowed`, which Larder never reports itself.
    public static let dataNotAllowed = transport(-1020)
    /// The file does not exist.
    public static let fileNotFound = transport(-1100)
    /// The file is not a regular file.
    public static let fileNotRegular = transport(-1101)
    /// This process may not read the file.
    public static let fileNotPermitted = transport(-1102)
    /// Reading the file failed.
    public static let fileReadFailed = transport(-1104)
    /// The TLS handshake failed.
    public static let handshakeFailed = transport(-1200)
    /// The certificate is not trusted.
    public static let certificateRefused = transport(-1202)

    /// The policy does not allow the address, the bucket or the directory.
    public static let addressRefused = larder(101)
    /// The policy does not allow the port.
    public static let portRefused = larder(102)
    /// A redirect from https to http.
    public static let downgradeRefused = larder(103)
    /// `robots.txt` or `X-Robots-Tag` forbids the image.
    public static let robotsRefused = larder(104)
    /// The job's context is invalid, or names what this worker does not have.
    public static let notConfigured = larder(105)
    /// No request may be sent to the origin at present.
    public static let originHeld = larder(106)
    /// The pipeline's JSON is wrong, or this program does not support it.
    public static let pipelineInvalid = larder(107)
    /// More bytes than the limit.
    public static let bodyTooLarge = larder(201)
    /// More pixels than the limit.
    public static let pixelsExceeded = larder(202)
    /// An edge longer than the limit, of the original or of a variant.
    public static let edgeExceeded = larder(203)
    /// More frames than the limit, or more pixels in all of them.
    public static let framesExceeded = larder(204)
    /// More memory than a transcoder may use.
    public static let memoryExceeded = larder(205)
    /// More time than an image may take.
    public static let timeExceeded = larder(206)
    /// The transcoder died while it held the image, could not be started, or did not end in time.
    public static let transcoderDied = larder(301)
    /// The transcoder died twice while it held the image.
    public static let poison = larder(302)
    /// A variant has no result, for example a crop outside the image.
    public static let transformFailed = larder(401)
    /// The encoder failed.
    public static let encodeFailed = larder(402)
    /// A file could not be stored.
    public static let storeFailed = larder(403)
    /// The template of the naming gives the image the file name of another one.
    public static let nameTaken = larder(404)
    /// A worker's own fault: it lacks what every job needs.
    public static let localFault = larder(501)
    /// The database refused the result of an attempt.
    public static let resultRefused = larder(502)
}
