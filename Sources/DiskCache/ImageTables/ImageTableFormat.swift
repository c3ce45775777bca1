/// The format of an image table: pictures of one size and style, uncompressed, as FastImageCache maps them into memory.
///
/// Source: the spec of FastImageCache, sections 9.1 and 9.2.
public struct ImageTableFormat: Hashable, Sendable {
    /// How pixels lie in memory. The raw values are FastImageCache's.
    public enum Style: Int, Sendable, CaseIterable {
        /// Four bytes: blue, green, red, alpha; colours multiplied by alpha.
        case bgra32 = 0
        /// Four bytes: blue, green, red, and one that means nothing.
        case bgr32 = 1
        /// Two bytes: five bits each of red, green and blue.
        case rgb16 = 2
        /// One byte of grey.
        case grey8 = 3

        /// Bytes of a pixel.
        public var bytesPerPixel: Int { [4, 4, 2, 1][rawValue] }
    }

    /// The name, also of the files.
    public var name: String
    /// Formats of one family are made together.
    public var family: String?
    /// Width in points.
    public var width: Int
    /// Height in points.
    public var height: Int
    /// Pixels per point.
    public var scale: Int
    /// How pixels lie in memory.
    public var style: Style
    /// The most pictures; at least as many as a chunk holds are kept.
    public var maximumCount: Int
    /// The page size of the device that reads the table: 4096 or 16384. Not that of this host.
    public var pageSize: Int

    /// A format.
    ///
    /// - Throws: `StoreError.invalidName` when the name is no plain file name, the size is not positive or too large, or the
    ///   page size is neither 4096 nor 16384.
    public init(
        name: String, family: String? = nil, width: Int, height: Int, scale: Int = 1, style: Style = .bgra32,
        maximumCount: Int, pageSize: Int = 16_384
    ) throws(StoreError) {
        guard !name.isEmpty, name.utf8.count <= 200, name.utf8.first != UInt8(ascii: "."), !name.utf8.contains(0),
            !name.utf8.contains(UInt8(ascii: "/"))
        else { throw StoreError(.invalidName, "name an image table", name) }
        guard (1...16_383).contains(width), (1...16_383).contains(height), (1...4).contains(scale),
            maximumCount > 0, [4096, 16_384].contains(pageSize)
        else { throw StoreError(.invalidName, "use the sizes of image table", name) }
        self.name = name
        self.family = family
        self.width = width
        self.height = height
        self.scale = scale
        self.style = style
        self.maximumCount = maximumCount
        self.pageSize = pageSize
    }

    /// Bytes of a row of pixels: a multiple of 64.
    public var rowLength: Int { Self.rounded(width * scale * style.bytesPerPixel, to: 64) }

    /// Bytes of a picture, padding of its rows included.
    public var imageLength: Int { rowLength * height * scale }

    /// Bytes of an entry: the picture, padding, and at the very end 32 bytes that name it; whole pages.
    public var entryLength: Int { Self.rounded(imageLength + Self.trailerLength, to: pageSize) }

    /// Entries that the file grows by: 2 MiB of them, but four at least.
    public var entriesPerChunk: Int { max(4, (2 << 20) / entryLength) }

    /// The most entries before an old one gives way.
    public var effectiveMaximum: Int { max(maximumCount, entriesPerChunk) }

    static let trailerLength = 32

    private static func rounded(_ value: Int, to unit: Int) -> Int { (value + unit - 1) / unit * unit }
}
