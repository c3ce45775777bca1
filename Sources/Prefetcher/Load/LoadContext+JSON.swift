public import ImageModel
internal import Transcoder

extension LoadContext {
    /// Parses a context, strictly: SDWebImage's raw key names, each value in JSON.
    ///
    /// - Parameter json: UTF-8 text of an object.
    /// - Throws: `VariantError` with the JSON path for unknown keys, wrong types, keys that Larder has no meaning for although
    ///   they would change the result, and headers that are secrets.
    public init(json: some Sequence<UInt8>) throws(VariantError) {
        var fields = try JSONFields(try JSONValue.parse(Array(json)), path: "$")
        for key in Self.withoutMeaning { _ = fields.take(key) }
        for (key, why) in Self.refused where fields.take(key) != nil { throw fields.refusal(key, why) }

        let decode = try DecodeFields(&fields)
        scale = decode.scale
        scaleDownLimit = decode.scaleDownLimit
        result = try Self.result(&fields, thumbnail: decode.thumbnail)
        query = try Self.cacheType(&fields, "queryCacheType") ?? query
        store = try Self.cacheType(&fields, "storeCacheType") ?? store
        originalQuery = try Self.cacheType(&fields, "originalQueryCacheType") ?? originalQuery
        originalStore = try Self.cacheType(&fields, "originalStoreCacheType") ?? originalStore
        cache = try Self.choice(&fields, "imageCache")
        originalCache = try Self.choice(&fields, "originalImageCache")
        source = try Self.choice(&fields, "imageLoader")
        decryptor = try Self.choice(&fields, "downloadDecryptor")
        keyFilter = try Self.choice(&fields, "cacheKeyFilter")
        serializer = try Self.choice(&fields, "cacheSerializer")
        requestModifier = try Self.choice(&fields, "downloadRequestModifier", RequestChange.init)
        responseModifier = try Self.choice(&fields, "downloadResponseModifier", ResponseChange.init)
        credentials = try fields.string("credentials")
        try fields.finish()
    }

    /// Keys that only concern a view, a queue of callbacks or a screen, and the hint at a format, which the bytes tell.
    static let withoutMeaning = [
        "setImageOperationKey", "callbackQueue", "imageForceDecodePolicy", "imageDecodeToHDR", "animatedImageClass",
        "imageTypeIdentifierHint",
    ]

    /// Keys that would change a result, and are not there to be chosen.
    static let refused = [
        ("customManager", "is not supported: a worker has one manager"),
        ("imageCoder", "is not supported: coders are chosen by the picture's bytes"),
        ("loaderCachedImage", "is set by the manager alone"),
    ]

    /// The load's own picture as a variant; the keys are read even where they ask for none.
    private static func result(_ fields: inout JSONFields, thumbnail: JSONValue?) throws(VariantError) -> Variant? {
        var variant: [String: JSONValue] = ["name": .string("result")]
        variant["thumbnail"] = thumbnail
        switch fields.take("imageTransformer") {
        case nil, .null, .array([]): break
        case .array(let list): variant["transform"] = .array(list)
        default: throw fields.refusal("imageTransformer", "must be a list of transformers or null")
        }
        let isAsked = variant.count > 1
        if let options = fields.take("imageEncodeOptions") {
            var encode = try JSONFields(options, path: "$.imageEncodeOptions")
            variant["quality"] = try encode.number("encodeCompressionQuality").map { .number(($0 * 100).rounded()) }
            variant["maxBytes"] = try encode.number("encodeMaxFileSize").map { .number($0) }
            variant["background"] = try encode.string("encodeBackgroundColor").map { .string($0) }
            for key in ["encodeEmbedThumbnail", "encodeToHDR", "encodeFirstFrameOnly"] { _ = encode.take(key) }
            try encode.finish()
        }
        guard isAsked else { return nil }
        do {
            return try Variant(.object(variant), path: "$")
        } catch {
            throw VariantError(path: Self.contextPath(error.path), message: error.message)
        }
    }

    /// The path in the context of what stands at `path` in the variant made of it.
    private static func contextPath(_ path: String) -> String {
        let names = [
            ("$.thumbnail", "$.imageThumbnailPixelSize"), ("$.transform", "$.imageTransformer"),
            ("$.quality", "$.imageEncodeOptions.encodeCompressionQuality"),
            ("$.maxBytes", "$.imageEncodeOptions.encodeMaxFileSize"),
            ("$.background", "$.imageEncodeOptions.encodeBackgroundColor"),
        ]
        guard let (variant, context) = names.first(where: { path.hasPrefix($0.0) }) else { return path }
        return context + path.dropFirst(variant.count)
    }

    private static func cacheType(_ fields: inout JSONFields, _ key: String) throws(VariantError) -> CacheType? {
        try fields.integer(key, in: 0...3).flatMap(CacheType.init)
    }

    private static func choice(_ fields: inout JSONFields, _ key: String) throws(VariantError) -> Choice<Nothing> {
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

/// How the source is decoded: single keys, each of which wins over its entry in `imageDecodeOptions`.
private struct DecodeFields {
    let thumbnail: JSONValue?
    let scale: Double?
    let scaleDownLimit: Int?

    init(_ fields: inout JSONFields) throws(VariantError) {
        // What a coder of an app's own would be told passes through unread, as in SDWebImage.
        var dictionary = try JSONFields(
            fields.take("imageDecodeOptions") ?? .object([:]), path: "$.imageDecodeOptions")
        let dictionaryScale = try dictionary.number("decodeScaleFactor")
        let dictionaryLimit = try dictionary.integer("decodeScaleDownLimitBytes", in: 0...Int(Int32.max))
        let dictionarySize = dictionary.take("decodeThumbnailPixelSize")
        let dictionaryAspect = try dictionary.bool("decodePreserveAspectRatio", default: true)

        scale = try fields.number("imageScaleFactor") ?? dictionaryScale
        if let scale, scale < 1 { throw fields.refusal("imageScaleFactor", "must be at least 1") }
        let limit = try fields.integer("imageScaleDownLimitBytes", in: 0...Int(Int32.max)) ?? dictionaryLimit
        scaleDownLimit = limit == 0 ? nil : limit
        let aspect = try fields.bool("imagePreserveAspectRatio", default: dictionaryAspect)
        guard case .object(var size) = fields.take("imageThumbnailPixelSize") ?? dictionarySize ?? .object([:]) else {
            throw fields.refusal("imageThumbnailPixelSize", "must be an object with width and height")
        }
        guard !size.isEmpty else {
            thumbnail = nil
            return
        }
        size["preserveAspectRatio"] = .bool(aspect)
        thumbnail = .object(size)
    }
}

extension RequestChange {
    /// Headers that say who asks: they belong into a credential profile, not into a job.
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
    /// An object of header names and values; neither can end a line.
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
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken) else {
                throw refusal("\(field).\(name)", "is no header name")
            }
            if secrets.contains(name.lowercased()) {
                throw refusal("\(field).\(name)", "is a secret: name a credential profile instead")
            }
            headers[name] = text
        }
        return headers
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
