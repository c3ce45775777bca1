/// The size and pixel layout of an image table's images.
///
/// Source: FastImageCache 1.5.1, `FICImageFormat` and `FICImageTable`.
package struct ImageTableFormat: Hashable, Sendable {
    /// A pixel's layout. Raw values as in FastImageCache.
    package enum Style: Int, Sendable, CaseIterable {
        /// Four bytes: blue, green, red, alpha; premultiplied.
        case bgra32 = 0
        /// Four bytes: blue, green, red, unused.
        case bgr32 = 1
        /// Two bytes: five bits each of red, green and blue.
        case rgb16 = 2
        /// One byte of grey.
        case grey8 = 3

        package var bytesPerPixel: Int { [4, 4, 2, 1][rawValue] }
    }

    /// The devices that use the table. Raw values as in FastImageCache.
    package struct Devices: OptionSet, Hashable, Sendable {
        /// The bits, 1 to 3.
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let phone = Devices(rawValue: 1)
        package static let pad = Devices(rawValue: 2)
        /// Both; the default.
        package static let all: Devices = [.phone, .pad]
    }

    /// When the device encrypts the table. Raw values as in FastImageCache.
    package enum Protection: Int, Sendable, CaseIterable {
        /// Never; the default.
        case none = 0
        /// While it is locked.
        case complete = 1
        /// From its start until it is unlocked for the first time.
        case untilFirstUnlock = 2
    }

    /// Also the name of the files.
    package var name: String
    /// FastImageCache creates a family's formats together; nil by default.
    package var family: String?
    /// In points.
    package var width: Int
    /// In points.
    package var height: Int
    /// Pixels per point, 1 to 4.
    package var scale: Int
    /// `bgra32` by default.
    package var style: Style
    /// Maximum images; the table holds at least one chunk.
    package var maximumCount: Int
    /// `all` by default. Apps ignore a table for other devices.
    package var devices: Devices
    /// `none` by default. Only recorded in the metadata; a file on a server is not encrypted.
    package var protection: Protection
    /// Page size of the device that reads the table, 4096 or 16384 (the default).
    package var pageSize: Int

    /// - Throws: `StoreError.invalidName` if the name is not a file name, or a number is out of range.
    package init(
        name: String, family: String? = nil, width: Int, height: Int, scale: Int = 1, style: Style = .bgra32,
        maximumCount: Int, devices: Devices = .all, protection: Protection = .none, pageSize: Int = 16_384
    ) throws(StoreError) {
        guard name.isVisibleFileName, name.utf8.count <= 200 else {
            throw StoreError(.invalidName, "name an image table", name)
        }
        guard (1...16_383).contains(width), (1...16_383).contains(height), (1...4).contains(scale),
            maximumCount > 0, !devices.isEmpty, devices.isSubset(of: .all), [4096, 16_384].contains(pageSize)
        else { throw StoreError(.invalidName, "use the sizes of image table", name) }
        self.name = name
        self.family = family
        self.width = width
        self.height = height
        self.scale = scale
        self.style = style
        self.maximumCount = maximumCount
        self.devices = devices
        self.protection = protection
        self.pageSize = pageSize
    }

    /// Bytes per row, a multiple of 64.
    package var rowLength: Int { Self.rounded(width * scale * style.bytesPerPixel, to: 64) }

    /// Bytes per image.
    package var imageLength: Int { rowLength * height * scale }

    /// Bytes per entry, a multiple of the page size: image, padding, and a 32-byte trailer with its ids.
    package var entryLength: Int { Self.rounded(imageLength + Self.trailerLength, to: pageSize) }

    /// Entries by which the file grows: about 2 MiB, at least four.
    package var entriesPerChunk: Int { max(4, (2 << 20) / entryLength) }

    /// Images above which old ones are replaced.
    package var effectiveMaximum: Int { max(maximumCount, entriesPerChunk) }

    static let trailerLength = 32

    private static func rounded(_ value: Int, to unit: Int) -> Int { (value + unit - 1) / unit * unit }
}
