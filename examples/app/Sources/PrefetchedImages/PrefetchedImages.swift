import Foundation

/// The images of a bundle that `larder cache export` wrote as a directory.
public struct PrefetchedImages: Sendable {
    /// One line of the manifest.
    public struct Image: Decodable, Sendable {
        /// The cache key of SDWebImage: the URL, for a variant with the suffixes of its thumbnail and transformers.
        public let key: String
        /// The name of the file in the directory `default` of the bundle.
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
    private let images: [String: Image]

    /// Reads `manifest.jsonl` of the bundle; throws what `Data(contentsOf:)` and `JSONDecoder` throw.
    public init(directory: URL) throws {
        self.directory = directory
        let manifest = try Data(contentsOf: directory.appendingPathComponent("manifest.jsonl"))
        let decoder = JSONDecoder()
        images = try manifest.split(separator: UInt8(ascii: "\n")).reduce(into: [:]) { images, line in
            let image = try decoder.decode(Image.self, from: line)
            images[image.key] = image
        }
    }

    public func image(forKey key: String) -> Image? { images[key] }

    /// The file of a key, for `UIImage(contentsOfFile:)` or a fallback of a cache.
    public func path(forKey key: String) -> String? {
        images[key].map { directory.appendingPathComponent("default/" + $0.file).path }
    }
}
