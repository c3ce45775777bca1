internal import Downloader
public import ImageModel

extension LoadContext {
    /// Parses an object of SDWebImage's raw key names.
    ///
    /// - Parameter json: UTF-8 text of an object.
    /// - Throws: `VariantError` with the JSON path for unknown keys, wrong types, keys that would change the result and
    ///   are not supported, and headers that carry secrets.
    public init(json: some Sequence<UInt8>) throws(VariantError) {
        var fields = try JSONFields(try JSONValue.parse(Array(json)), path: "$")
        for key in Self.ignored { _ = fields.take(key) }
        for (key, reason) in Self.refused where fields.take(key) != nil { throw fields.refusal(key, reason) }

        let thumbnail = try readDecodeOptions(&fields)
        try readResult(&fields, thumbnail: thumbnail)
        usesAnimatedImage = try Self.isAnimatedClass(&fields)
        query = try Self.cacheType(&fields, "queryCacheType") ?? query
        store = try Self.cacheType(&fields, "storeCacheType") ?? store
        originalQuery = try Self.cacheType(&fields, "originalQueryCacheType") ?? originalQuery
        originalStore = try Self.cacheType(&fields, "originalStoreCacheType") ?? originalStore
        cache = try Self.choice(&fields, "imageCache")
        originalCache = try Self.choice(&fields, "originalImageCache")
        source = try Self.choice(&fields, "imageLoader")
        coder = try fields.string("imageCoder")
        decryptor = try Self.choice(&fields, "downloadDecryptor")
        keyFilter = try Self.choice(&fields, "cacheKeyFilter")
        serializer = try Self.choice(&fields, "cacheSerializer")
        requestModifier = try Self.choice(&fields, "downloadRequestModifier", RequestChange.init)
        responseModifier = try Self.choice(&fields, "downloadResponseModifier", ResponseChange.init)
        credentials = try fields.string("credentials")
        try fields.finish()
    }

    /// Keys for views, callback queues and screens, and the format hint, which the image's bytes replace.
    static let ignored = [
        "setImageOperationKey", "callbackQueue", "imageForceDecodePolicy", "imageDecodeToHDR",
        "imageTypeIdentifierHint",
    ]

    /// Keys that would change the result and are not supported.
    static let refused = [
        ("customManager", "is not supported: a worker has one manager"),
        ("loaderCachedImage", "is set by the manager alone"),
    ]

    /// Reads `result` and its encoding. The encoding keys are checked even without that variant.
    ///
    /// A byte limit replaces the quality; 0 is no limit. Source: SDWebImage 5.21.5, `SDImageIOAnimatedCoder`,
    /// `encodedDataWithFrames:`.
    private mutating func readResult(_ fields: inout JSONFields, thumbnail: JSONValue?) throws(VariantError) {
        var variant: [String: JSONValue] = ["name": .string("result")]
        variant["thumbnail"] = thumbnail
        switch fields.take("imageTransformer") {
        case nil, .null, .array([]): break
        case .array(let list): variant["transform"] = .array(list)
        default: throw fields.refusal("imageTransformer", "must be a list of transformers or null")
        }
        let hasResult = variant.count > 1
        if let options = fields.take("imageEncodeOptions") {
            var encode = try JSONFields(options, path: "$.imageEncodeOptions")
            let quality = try encode.number("encodeCompressionQuality").map { ($0 * 100).rounded() }
            let limit = try encode.number("encodeMaxFileSize").flatMap { $0 == 0 ? nil : $0 }
            variant["quality"] = limit == nil ? quality.map { .number($0) } : nil
            variant["maxBytes"] = limit.map { .number($0) }
            variant["background"] = try encode.string("encodeBackgroundColor").map { .string($0) }
            variant["maxPixelSize"] = try Self.encodingBox(&encode)
            encodesFirstFrame = try encode.bool("encodeFirstFrameOnly", default: false)
            for key in ["encodeEmbedThumbnail", "encodeToHDR"] { _ = encode.take(key) }
            try encode.finish()
        }
        guard hasResult else { return }
        do {
            result = try Variant(.object(variant), path: "$")
        } catch {
            throw VariantError(path: Self.contextPath(error.path), message: error.message)
        }
    }

    /// `encodeMaxPixelSize`; nil for none. 0 leaves a side unlimited (SDWebImage 5.21.5, `SDImageIOAnimatedCoder`).
    private static func encodingBox(_ encode: inout JSONFields) throws(VariantError) -> JSONValue? {
        guard let value = encode.take("encodeMaxPixelSize") else { return nil }
        var box = try JSONFields(value, path: "$.imageEncodeOptions.encodeMaxPixelSize")
        let (width, height) = (try box.number("width") ?? 0, try box.number("height") ?? 0)
        try box.finish()
        return width == 0 || height == 0 ? nil : .object(["width": .number(width), "height": .number(height)])
    }

    /// Maps a path in the variant to its path in the context.
    private static func contextPath(_ path: String) -> String {
        let names = [
            ("$.thumbnail", "$.imageThumbnailPixelSize"), ("$.transform", "$.imageTransformer"),
            ("$.quality", "$.imageEncodeOptions.encodeCompressionQuality"),
            ("$.maxBytes", "$.imageEncodeOptions.encodeMaxFileSize"),
            ("$.background", "$.imageEncodeOptions.encodeBackgroundColor"),
            ("$.maxPixelSize", "$.imageEncodeOptions.encodeMaxPixelSize"),
        ]
        guard let (variant, context) = names.first(where: { path.hasPrefix($0.0) }) else { return path }
        return context + path.dropFirst(variant.count)
    }

    /// Whether `animatedImageClass` can implement SDAnimatedImage's protocol: any class but `UIImage` and `NSImage`.
    /// Source: SDWebImage 5.21.5, `SDImageCacheDecodeImageData`.
    private static func isAnimatedClass(_ fields: inout JSONFields) throws(VariantError) -> Bool {
        switch fields.take("animatedImageClass") {
        case nil, .null: return false
        case .string(let name) where !name.isEmpty: return !["UIImage", "NSImage"].contains(name)
        default: throw fields.refusal("animatedImageClass", "must be the name of a class, or null for none")
        }
    }

    private static func cacheType(_ fields: inout JSONFields, _ key: String) throws(VariantError) -> CacheType? {
        try fields.integer(key, in: 0...3).map(CacheType.init)
    }

    private static func choice(_ fields: inout JSONFields, _ key: String) throws(VariantError) -> Choice<Never> {
        switch fields.take(key) {
        case nil: return .own
        case .null: return .none
        case .string(let name) where !name.isEmpty: return .named(name)
        default: throw fields.refusal(key, "must be the name of one, or null for none")
        }
    }

    private static func choice<Described>(
        _ fields: inout JSONFields, _ key: String, _ read: (inout JSONFields) throws(VariantError) -> Described
    ) throws(VariantError) -> Choice<Described> {
        switch fields.take(key) {
        case nil: return .own
        case .null: return .none
        case .string(let name) where !name.isEmpty: return .named(name)
        case .object(let members):
            var described = try JSONFields(.object(members), path: "$.\(key)")
            let value = try read(&described)
            try described.finish()
            return .described(value)
        default: throw fields.refusal(key, "must be the name of one, an object, or null for none")
        }
    }
}

extension LoadContext {
    /// Reads how the original is decoded.
    ///
    /// `imageDecodeOptions` has no effect: SDWebImage overwrites its entries for scale, thumbnail, aspect ratio, limit,
    /// first frame and type hints from the context and the options, even if these are absent. Its other entries are for
    /// an app's own coders. Source: SDWebImage 5.21.5, `SDGetDecodeOptionsFromContext`.
    ///
    /// - Returns: the thumbnail size in a variant's notation; nil for none.
    private mutating func readDecodeOptions(_ fields: inout JSONFields) throws(VariantError) -> JSONValue? {
        switch fields.take("imageDecodeOptions") {
        case nil, .null, .object: break
        default: throw fields.refusal("imageDecodeOptions", "must be an object")
        }
        // Values below 1 have no effect: the key's scale counts.
        scale = try fields.number("imageScaleFactor").flatMap { $0 < 1 ? nil : $0 }
        scaleDownLimit = try fields.integer("imageScaleDownLimitBytes", in: 0...Int.max)
        let aspect = try fields.bool("imagePreserveAspectRatio", default: true)
        guard case .object(var size) = fields.take("imageThumbnailPixelSize") ?? .object([:]) else {
            throw fields.refusal("imageThumbnailPixelSize", "must be an object with width and height")
        }
        if size.isEmpty { return nil }
        size["preserveAspectRatio"] = .bool(aspect)
        return .object(size)
    }
}

extension RequestChange {
    /// Refused headers. Jobs name a credential profile instead.
    static let secretHeaders: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    fileprivate init(_ fields: inout JSONFields) throws(VariantError) {
        let method = try fields.string("method")
        if let method, !Self.methods.contains(method) {
            throw fields.refusal("method", "must be one of \(Self.methods.sorted().joined(separator: ", "))")
        }
        let headers = try fields.headers("headers", refusing: Self.secretHeaders)
        self.init(method: method, headers: headers, body: try fields.string("body"))
    }

    private static let methods: Set<String> = ["GET", "POST", "PUT"]
}

extension ResponseChange {
    fileprivate init(_ fields: inout JSONFields) throws(VariantError) {
        let status = try fields.integer("status", in: 100...599)
        self.init(status: status, headers: try fields.headers("headers", refusing: []))
    }
}

extension JSONFields {
    /// An object of headers without control characters.
    fileprivate mutating func headers(
        _ field: String, refusing secrets: Set<String>
    ) throws(VariantError) -> [String: String] {
        guard let value = take(field) else { return [:] }
        guard case .object(let members) = value, members.count <= 32 else {
            throw refusal(field, "must be an object of at most 32 headers")
        }
        var headers: [String: String] = [:]
        for (name, value) in members {
            guard case .string(let text) = value, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
                throw refusal("\(field).\(name)", "must be a string without control characters")
            }
            guard HeaderField.isToken(name) else {
                throw refusal("\(field).\(name)", "is not a header name")
            }
            if secrets.contains(name.lowercased()) {
                throw refusal("\(field).\(name)", "is a secret: name a credential profile instead")
            }
            headers[name] = text
        }
        return headers
    }
}
