/// A size in whole pixels.
public struct PixelSize: Sendable, Hashable {
    /// The sides.
    public var width, height: Int

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Width times height.
    public var area: Int { width * height }

    /// The sides exchanged.
    package var turned: PixelSize { PixelSize(width: height, height: width) }
}
