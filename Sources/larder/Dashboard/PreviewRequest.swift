import DiskCache
import Foundation
import ImageModel

/// What a preview is asked for: variants of the image of a URL, or of a file that the request contains.
struct PreviewRequest: Sendable {
    enum Source: Sendable {
        case url(CacheKey)
        case file([UInt8])
    }

    let source: Source
    let variants: [Variant]

    /// Variants of one preview.
    static let mostVariants = 16
    /// Of a file, in bytes; less where `--max-body` is.
    static let mostBytes = 8 << 20

    /// - Parameters:
    ///   - body: `{"url":…,"variants":[…]}`, or with `file` in base64 in place of `url`.
    ///   - mostBytes: of the file.
    /// - Throws: wrong usage; a file that is too large, 201.
    init(_ body: [UInt8], mostBytes: Int) throws(CommandError) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
            let given = object["variants"] as? [Any], given.count <= Self.mostVariants,
            let source = Self.source(object)
        else {
            throw CommandError.usage(
                "the body needs 'url' or 'file' in base64, and 'variants', an array of at most \(Self.mostVariants)")
        }
        if case .file(let bytes) = source, bytes.count > min(mostBytes, Self.mostBytes) {
            let code = FailureCode.bodyTooLarge
            throw CommandError(
                domain: code.domain, code: code.code,
                message: "the file has \(bytes.count) bytes; the limit is \(min(mostBytes, Self.mostBytes))",
                exit: .wrongUsage)
        }
        self.source = source
        var variants: [Variant] = []
        for (number, variant) in given.enumerated() {
            let data = try? JSONSerialization.data(withJSONObject: variant, options: .fragmentsAllowed)
            let text = String(decoding: data ?? Data(), as: UTF8.self)
            variants.append(try VariantJSON.variant(text, from: "variant \(number + 1)"))
        }
        self.variants = variants
    }

    /// Nil for neither or both, and for what is not base64.
    private static func source(_ object: [String: Any]) -> Source? {
        switch (object["url"], object["file"]) {
        case (let url as String, nil) where !url.isEmpty: .url(CacheKey(url))
        case (nil, let text as String) where !text.isEmpty: Data(base64Encoded: text).map { .file(Array($0)) }
        default: nil
        }
    }
}
