/// A named list of variants.
public struct Pipeline: Sendable, Hashable {
    /// Maximum variants of a pipeline.
    public static let variantLimit = 32

    /// Maximum watermark files of a pipeline.
    public static let watermarkLimit = 4

    /// The default pipeline: only the original.
    public static let original = Pipeline(uncheckedName: "original", variants: [])

    /// The name that jobs refer to.
    public let name: String
    /// In the given order.
    public let variants: [Variant]
    /// Derives cache keys from URLs; nil uses the URL itself.
    package let cacheKey: CacheKeyRule?

    private init(uncheckedName name: String, variants: [Variant], cacheKey: CacheKeyRule? = nil) {
        self.name = name
        self.variants = variants
        self.cacheKey = cacheKey
    }

    /// Checks a list of variants.
    ///
    /// - Throws: `VariantError` for too many variants, two with the same name or cache key, or one with the original's
    ///   key.
    package init(name: String, variants: [Variant], cacheKey: CacheKeyRule? = nil) throws(VariantError) {
        guard !name.isEmpty else { throw VariantError(path: "$.name", message: "must not be empty") }
        try Self.check(variants)
        self.init(uncheckedName: name, variants: variants, cacheKey: cacheKey)
    }

    /// Parses `{"name":…,"variants":[…]}`, with `"cacheKey":{…}` if keys are not the URLs.
    ///
    /// - Parameter json: UTF-8 text.
    /// - Throws: `VariantError` with the JSON path.
    public init(json: some Sequence<UInt8>) throws(VariantError) {
        var fields = try JSONFields(try JSONValue.parse(Array(json)), path: "$")
        let name = try fields.requiredName("name")
        guard let list = fields.take("variants") else { throw fields.refusal("variants", "is missing") }
        let variants = try list.list(
            path: "$.variants", limit: Self.variantLimit, of: "variants", Variant.init(_:path:))
        let cacheKey = try fields.take("cacheKey").map { value throws(VariantError) in
            try CacheKeyRule(value, path: "$.cacheKey")
        }
        try fields.finish()
        try self.init(name: name, variants: variants, cacheKey: cacheKey)
    }

    /// An ad-hoc pipeline, named `adhoc-` and the first 16 digits of the SHA-256 of its canonical JSON.
    ///
    /// - Throws: `VariantError` as `init(name:variants:)`.
    package static func adhoc(
        _ variants: [Variant], cacheKey: CacheKeyRule? = nil
    ) throws(VariantError) -> Pipeline {
        try check(variants)
        let text = JSONValue.array(variants.map(\.json) + [cacheKey?.json].compactMap(\.self)).canonicalText
        let name = "adhoc-" + SHA256Digest.hex(of: text.utf8).prefix(16)
        return Pipeline(uncheckedName: name, variants: variants, cacheKey: cacheKey)
    }

    /// A unique text: sorted fields, no spaces, with the transformers' defaults. Parses to an equal pipeline.
    public var canonicalJSON: String {
        let fields: [String: JSONValue?] = [
            "name": .string(name), "variants": .array(variants.map(\.json)), "cacheKey": cacheKey?.json,
        ]
        return JSONValue.object(fields.compactMapValues(\.self)).canonicalText
    }

    /// Refuses contradictory variants.
    ///
    /// - Throws: `VariantError` with the JSON path.
    public func validateSupported() throws(VariantError) {
        for (index, variant) in variants.enumerated() {
            try variant.validateSupported(path: "$.variants[\(index)]")
        }
    }

    private static func check(_ variants: [Variant]) throws(VariantError) {
        guard variants.count <= variantLimit else {
            throw VariantError(
                path: "$.variants", message: "has \(variants.count) variants; the limit is \(variantLimit)")
        }
        let watermarks = Set(variants.flatMap(\.watermarks)).count
        guard watermarks <= watermarkLimit else {
            throw VariantError(
                path: "$.variants", message: "has \(watermarks) files of watermarks; the limit is \(watermarkLimit)")
        }
        // Compared as bytes: Swift's == treats composed and decomposed characters as equal.
        var names: [[UInt8]: Int] = [:]
        var keys: [[UInt8]: String] = [:]
        for (index, variant) in variants.enumerated() {
            let path = "$.variants[\(index)]"
            if let first = names.updateValue(index, forKey: Array(variant.name.utf8)) {
                throw VariantError(
                    path: "\(path).name", message: "\"\(variant.name)\" is already the name of variants[\(first)]")
            }
            let suffixes = variant.keySuffixes
            guard !suffixes.isEmpty else {
                throw VariantError(
                    path: path, message: "\"\(variant.name)\" has the original's cache key; give it a keySuffix")
            }
            if let other = keys.updateValue(variant.name, forKey: Array(suffixes.joined(separator: "-").utf8)) {
                throw VariantError(
                    path: path,
                    message: "\"\(variant.name)\" has the same cache key as \"\(other)\"; give one a keySuffix")
            }
        }
    }
}
