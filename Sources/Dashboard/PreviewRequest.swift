import DiskCache
import FoundationEssentials
import ImageModel
import Terminal

/// A preview request: variants of a URL's image, or of a file in the request.
struct PreviewRequest: Sendable {
    enum Source: Sendable {
        case url(CacheKey)
        case file([UInt8])
    }

    let source: Source
    let variants: [Variant]

    static let mostVariants = 16
    /// Maximum bytes of a file, unless `--max-body` is lower.
    static let mostBytes = 8 << 20

    /// - Parameters:
    ///   - body: `{"url":…,"variants":[…]}`, or with `file` in base64 instead of `url`.
    ///   - mostBytes: maximum bytes of the file.
    /// - Throws: wrong usage; 201 for a file that is too large.
    init(_ body: [UInt8], mostBytes: Int) throws(CommandError) {
        guard let given = try? JSONDecoder().decode(Given.self, from: Data(body)), let source = given.source,
            given.variants.count <= Self.mostVariants
        else {
            throw CommandError.usage(
                "the body needs 'url' or 'file' in base64, and 'variants', an array of at most \(Self.mostVariants)")
        }
        if case .file(let bytes) = source, bytes.count > min(mostBytes, Self.mostBytes) {
            throw CommandError(
                .bodyTooLarge, "the file has \(bytes.count) bytes; the limit is \(min(mostBytes, Self.mostBytes))",
                exit: .wrongUsage)
        }
        self.source = source
        var variants: [Variant] = []
        for (number, variant) in given.variants.enumerated() {
            do throws(VariantError) {
                variants.append(try Variant(json: variant.canonicalText.utf8))
            } catch {
                throw .larder(.invalidJSON, "variant \(number + 1): \(error)", exit: .wrongUsage)
            }
        }
        self.variants = variants
    }

    /// The JSON body; invalid base64 is refused.
    private struct Given: Decodable {
        let url: String?
        let file: Data?
        let variants: [JSONValue]

        /// Nil for neither or both.
        var source: Source? {
            switch (url, file) {
            case (let url?, nil) where !url.isEmpty: .url(CacheKey(url))
            case (nil, let file?) where !file.isEmpty: .file(Array(file))
            default: nil
            }
        }
    }
}
