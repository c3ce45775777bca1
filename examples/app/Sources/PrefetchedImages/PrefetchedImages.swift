import Foundation

/// The images of a bundle that `larder cache export` wrote as a directory.
public struct PrefetchedImages: Sendable {
    /// One line of the manifest.
    public struct Image: Decodable, Sendable {
        /// The cache key of the library: the URL, for a variant with what its thumbnail and transformers add.
        public let key: String
        /// The name of the file in the directory of the images.
        public let file: String
        public let bytes: Int
        /// In lower-case hexadecimal.
        public let sha256: String
        /// In pixels; nil when not known.
        public let width, height: Int?
        /// A ThumbHash in Base64, to draw until the image is decoded; nil when not known.
        public let placeholder: String?
    }

    public let directory: URL
    /// The directory of the images: that of the library for which the bundle was exported.
    public let imageDirectory: URL
    private let images: [String: Image]

    /// The directories of SDWebImage, Kingfisher and Nuke.
    private static let libraries = [
        "default", "com.onevcat.Kingfisher.ImageCache.default", "com.github.kean.Nuke.DataCache",
    ]

    /// Reads `manifest.jsonl` of the bundle; throws what `Data(contentsOf:)` and `JSONDecoder` throw.
    public init(directory: URL) throws {
        self.directory = directory
        let found = Self.libraries.map { directory.appendingPathComponent($0, isDirectory: true) }
            .first { FileManager.default.fileExists(atPath: $0.path) }
        imageDirectory = found ?? directory.appendingPathComponent("default", isDirectory: true)
        let manifest = try Data(contentsOf: directory.appendingPathComponent("manifest.jsonl"))
        let decoder = JSONDecoder()
        images = try manifest.split(separator: UInt8(ascii: "\n")).reduce(into: [:]) { images, line in
            let image = try decoder.decode(Image.self, from: line)
            images[image.key] = image
        }
    }

    /// The images of the bundle, in no order.
    public var all: some Collection<Image> { images.values }

    public func image(forKey key: String) -> Image? { images[key] }

    /// The file of a key, for `UIImage(contentsOfFile:)` or a fallback of a cache.
    public func path(forKey key: String) -> String? {
        images[key].map { imageDirectory.appendingPathComponent($0.file).path }
    }
}
