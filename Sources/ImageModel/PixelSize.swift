/// A size in whole pixels.
public struct PixelSize: Sendable, Hashable {
    public var width, height: Int

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Width times height.
    public var area: Int {
        let (area, isTooLarge) = width.multipliedReportingOverflow(by: height)
        return isTooLarge ? .max : area
    }

    package var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// `200×100`.
    package var text: String { "\(width)×\(height)" }
}
