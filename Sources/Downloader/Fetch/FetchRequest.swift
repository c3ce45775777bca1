/// One download into an open file.
package struct FetchRequest: Sendable {
    /// What to fetch.
    package var url: SourceURL
    /// Where the body goes: an open descriptor, written from its current position and never closed.
    /// It belongs to the caller, who must keep it open until `fetch` has returned; it is not touched after that.
    /// When the download fails it holds a part of the body or nothing.
    package var descriptor: Int32
    /// Limits instead of the downloader's.
    package var limits: FetchLimits?
    /// A policy instead of the downloader's.
    package var policy: AddressPolicy?
    /// Judges the first bytes (at most 4 KiB): true to go on, false when they are no image wanted here, nil to
    /// see more. Called on the network thread; must not block.
    package var accepts: @Sendable (UnsafeRawBufferPointer) -> Bool?
    /// Judges the first bytes again, once `accepts` is content, by what they declare: dimensions, frames. Asked with more
    /// and more bytes until it has a verdict or has seen `inspectedBytes`, which is no verdict against a body. Called on
    /// the network thread; must not block.
    package var inspects: (@Sendable (UnsafeRawBufferPointer) -> PrefixVerdict)?
    /// The most bytes that `inspects` gets to see, `64 KiB`.
    package var inspectedBytes = 64 << 10
    /// Its place among the downloads that wait, `normal`.
    package var priority: FetchPriority = .normal
    /// Makes the request conditional: a copy that is still good ends the download with `FetchedBody.isNotModified`.
    package var revalidation: Revalidation?
    /// Hears how far the download is: once before the request, once with the answer's head, then at most every
    /// `progressInterval`, and at the end. Called on the network thread; must not block.
    package var progress: (@Sendable (FetchProgress) -> Void)?
    /// The least time between two words to `progress`, `100 ms`; zero for every piece.
    package var progressInterval: Duration = .milliseconds(100)
    /// The least gain between two words to `progress` as a part of a known length, 0…1, `0` (SDWebImage 5.21.5,
    /// minimumProgressInterval).
    package var progressFraction: Double = 0
    /// Headers to send, in place of Larder's own of the same name; an empty value leaves a header out. They go to the
    /// request's own origin; behind a redirect to another one only Accept, Accept-Language and User-Agent are sent.
    package var headers: [HeaderField] = []
    /// The method, `GET`: letters only.
    package var method = "GET"
    /// What is sent with the method; nil, the default, sends nothing. Not repeated to another origin.
    package var body: [UInt8]?
    /// The name of a profile in `FetchConfiguration.credentials`. It is used at the origins it is bound to and nowhere
    /// else; an unknown name fails the download as `SDWebImageErrorDomain 2000`.
    package var credentials: String?
    /// Takes any certificate (SDWebImage 5.21.5, SDWebImageAllowInvalidSSLCertificates), `false`.
    package var allowsInvalidCertificates = false
    /// Keeps the cookies of its own redirects and sends them back (SDWebImage 5.21.5, SDWebImageHandleCookies), `false`.
    package var handlesCookies = false
    /// Which answers are taken, 200…299 of any media type by default.
    package var rules = ResponseRules()
    /// When the download must be over, waiting for a free connection included; nil, the default, sets no such time.
    package var deadline: ContinuousClock.Instant?
    /// Whether it may share the transfer of an equal request, `true`.
    package var mayShare = true
    /// Asked before each hop whether it may be made; all may, by default.
    package var admits: @Sendable (SourceURL) async throws(FetchError) -> Void = { _ in }

    package init(
        url: SourceURL, descriptor: Int32, limits: FetchLimits? = nil, policy: AddressPolicy? = nil,
        accepts: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool? = { _ in true }
    ) {
        self.url = url
        self.descriptor = descriptor
        self.limits = limits
        self.policy = policy
        self.accepts = accepts
    }
}

/// What the first bytes of a body say about the rest.
package enum PrefixVerdict: Sendable {
    /// Go on, and ask no more.
    case accepted
    /// More bytes could tell.
    case undecided
    /// End the download with this code and these words.
    case refused(FetchError.Code, String)
}
