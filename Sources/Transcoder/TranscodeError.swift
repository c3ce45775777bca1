public import ImageModel

/// Why an image, or one of its variants, could not be made.
public struct TranscodeError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The number in the documented table of errors.
    public struct Code: Sendable, Hashable, RawRepresentable, Codable {
        /// The code within the domain.
        public let rawValue: Int

        /// Creates a code from its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        private init(_ code: FailureCode) { rawValue = code.code }

        /// Not an image, an unaccepted format, or an undecodable original.
        public static let undecodable = Code(.badImageData)
        /// More pixels than the limit.
        public static let pixels = Code(.pixelsExceeded)
        /// An edge longer than the limit, of the original or of a variant.
        public static let edge = Code(.edgeExceeded)
        /// More frames than the limit, or more pixels in all of them.
        public static let frames = Code(.framesExceeded)
        /// More memory than a child may use.
        public static let memory = Code(.memoryExceeded)
        /// More time than an image may take.
        public static let time = Code(.timeExceeded)
        /// The child died while it held the image.
        public static let died = Code(.transcoderDied)
        /// A transformer has no result, for example a crop outside the image.
        public static let transform = Code(.transformFailed)
        /// The encoder failed.
        public static let encode = Code(.encodeFailed)
        /// The output could not be written.
        public static let store = Code(.storeFailed)
        /// The machine lacks what every image needs: descriptors, memory or processes for a child; seccomp or Landlock
        /// for its sandbox; disk space, quota or a writable file system for the output.
        public static let localFault = Code(.localFault)
        /// A request names a coder that is not in the limits.
        public static let notConfigured = Code(.notConfigured)
        /// The task was cancelled.
        public static let cancelled = Code(.cancelled)
    }

    /// The kind of failure.
    public let code: Code
    /// One line of text; its wording may change.
    public let message: String
    /// The signal that ended the child; nil if none did.
    public let signal: Int32?
    /// For `died`: whether the image may be the cause, so that its second such error is final (302). False if no child
    /// could be started or it exceeded the wall-clock time.
    public let countsTowardPoison: Bool

    /// The settings that would allow the image, if a limit refused it.
    package let needs: [RequiredSetting]
    /// With 501: `coders.NAME`, if only this coder's images are affected; nil if every image is.
    package let profile: String?

    package init(
        _ code: Code, _ message: String, signal: Int32? = nil, countsTowardPoison: Bool = true,
        needs: [RequiredSetting] = [], profile: String? = nil
    ) {
        self.code = code
        self.message = message
        self.signal = signal
        self.countsTowardPoison = countsTowardPoison
        self.needs = needs
        self.profile = profile
    }

    /// SDWebImage's domain and code if it has the code, else Larder's.
    public var failureCode: FailureCode {
        FailureCode(
            domain: code.rawValue >= 1000 ? FailureCode.Domain.webImage : FailureCode.Domain.larder, code: code.rawValue
        )
    }

    /// The message with the options that would allow the image.
    public var text: String { message + RequiredSetting.hint(needs) }

    /// The same error for the queue.
    package var failure: FailureReason {
        var failure = FailureReason(failureCode, text)
        failure.countsTowardPoison = countsTowardPoison
        failure.needs = needs
        failure.profile = profile
        return failure
    }

    /// One of `FailureCode.Domain`.
    public var domain: String { failureCode.domain }

    /// `202 the image has 90000000 pixels; the limit is 50000000`.
    public var description: String { "\(code.rawValue) \(text)" }
}
