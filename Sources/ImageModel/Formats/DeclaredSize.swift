/// The size that a file's first bytes declare, read while the download goes on.
///
/// The child reads the header again with the codec, so a false declaration is found there.
package enum DeclaredSize: Sendable, Equatable {
    /// Width and height in pixels, as stored.
    case pixels(width: Int, height: Int)
    /// More bytes are needed.
    case later
    /// The format or this file declares none that can be read without a codec.
    case unknown

    /// Reads `bytes`, the beginning of a file of `format`.
    package init(_ bytes: UnsafeRawBufferPointer, format: ImageFormat) {
        self = format.declaredSize?(bytes) ?? .unknown
    }

    /// `later` where one of the numbers is beyond the bytes.
    init(_ width: Int?, _ height: Int?) {
        guard let width, let height else {
            self = .later
            return
        }
        self = .pixels(width: width, height: height)
    }
}
