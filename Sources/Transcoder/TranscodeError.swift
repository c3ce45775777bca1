/// Why a picture, or one variant of it, could not be had.
public struct TranscodeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What happened, numbered as in the documented table of errors.
    public struct Code: Sendable, Hashable, RawRepresentable, Codable {
        /// The number beside the domain.
        public let rawValue: Int

        /// A code by its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Not an image, a format that is not allowed, or an original that cannot be decoded.
        public static let undecodable = Code(rawValue: 1001)
        /// Too many pixels.
        public static let pixels = Code(rawValue: 202)
        /// An edge too long, in or out.
        public static let edge = Code(rawValue: 203)
        /// Too many frames, or too many pixels in all of them.
        public static let frames = Code(rawValue: 204)
        /// More memory than a child may use.
        public static let memory = Code(rawValue: 205)
        /// More time than a picture may take.
        public static let time = Code(rawValue: 206)
        /// The child died over the picture.
        public static let died = Code(rawValue: 301)
        /// A transformer gives nothing, a crop wholly outside for instance.
        public static let transform = Code(rawValue: 401)
        /// The encoder failed.
        public static let encode = Code(rawValue: 402)
        /// The output could not be written: a full disk, mostly.
        public static let store = Code(rawValue: 403)
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: 2002)
    }

    /// What happened.
    public let code: Code
    /// One line for people; its wording is no interface.
    public let message: String
    /// The signal that ended the child, where one did.
    public let signal: Int32?

    package init(_ code: Code, _ message: String, signal: Int32? = nil) {
        self.code = code
        self.message = message
        self.signal = signal
    }

    /// `SDWebImageErrorDomain` where SDWebImage has the code, else `LarderErrorDomain`.
    public var domain: String { code.rawValue >= 1000 ? "SDWebImageErrorDomain" : "LarderErrorDomain" }

    /// `202 the picture has 90000000 pixels; the limit is 50000000`.
    public var description: String { "\(code.rawValue) \(message)" }
}
