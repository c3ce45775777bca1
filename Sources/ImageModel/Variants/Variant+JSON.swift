extension Variant {
    /// The most transformers of one variant.
    public static let transformLimit = 16

    /// The formats that can be asked for.
    static let formats: [ImageFormat] = [.jpeg, .png, .gif, .webp, .avif, .heic]

    /// Parses one variant's JSON, strictly.
    ///
    /// - Parameters:
    ///   - json: UTF-8 text.
    ///   - path: the JSON path the text stands at, for errors; default `$`.
    /// - Throws: `VariantError` for unknown fields, wrong types, and values SDWebImage makes no picture from.
    public init(json: some Sequence<UInt8>, path: String = "$") throws(VariantError) {
        try self.init(try JSONValue.parse(Array(json)), path: path)
    }

    /// Reads one variant from a value at `path`.
    package init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        name = try fields.requiredName("name")
        thumbnail = try fields.take("thumbnail").map { value throws(VariantError) in
            try Thumbnail(value, path: "\(path).thumbnail")
        }
        transforms = try Self.transforms(fields.take("transform"), path: "\(path).transform")
        let formatName = try fields.string("format")
        format = Self.formats.first { $0.name == formatName }
        if formatName != nil && format == nil {
            throw fields.refusal("format", "must be one of \(Self.formats.map(\.name).joined(separator: ", "))")
        }
        quality = try fields.integer("quality", in: 0...100)
        maxBytes = try fields.integer("maxBytes", in: 1...Int(Int32.max))
        maxPixelSize = try fields.take("maxPixelSize").map { value throws(VariantError) in
            try Thumbnail(boxOf: value, path: "\(path).maxPixelSize")
        }
        background = try fields.color("background")
        everyFrame = try fields.bool("everyFrame", default: false)
        keepICC = try fields.bool("keepICC", default: false)
        keepCopyright = try fields.bool("keepCopyright", default: false)
        keySuffix = try fields.string("keySuffix")
        if keySuffix?.isEmpty == true { throw fields.refusal("keySuffix", "must not be empty") }
        try fields.finish()
    }

    private static func transforms(_ value: JSONValue?, path: String) throws(VariantError) -> [Transform] {
        guard let value else { return [] }
        guard case .array(let values) = value else { throw VariantError(path: path, message: "must be a list") }
        guard values.count <= transformLimit else {
            throw VariantError(path: path, message: "has \(values.count) transformers; the limit is \(transformLimit)")
        }
        var transforms: [Transform] = []
        for (index, value) in values.enumerated() {
            transforms.append(try Transform(value, path: "\(path)[\(index)]"))
        }
        return transforms
    }

    /// The JSON that gives this variant again; absent fields stay absent.
    package var json: JSONValue {
        var fields: [String: JSONValue] = ["name": .string(name)]
        fields["thumbnail"] = thumbnail?.json
        if !transforms.isEmpty { fields["transform"] = .array(transforms.map(\.json)) }
        fields["format"] = format.map { .string($0.name) }
        fields["quality"] = quality.map { .number(Double($0)) }
        fields["maxBytes"] = maxBytes.map { .number(Double($0)) }
        fields["maxPixelSize"] = maxPixelSize.map {
            .object(["width": .number($0.width), "height": .number($0.height)])
        }
        for (name, isSet) in [("everyFrame", everyFrame), ("keepICC", keepICC), ("keepCopyright", keepCopyright)]
        where isSet {
            fields[name] = .bool(true)
        }
        fields["background"] = background.map { .string($0.text) }
        fields["keySuffix"] = keySuffix.map { .string($0) }
        return .object(fields)
    }

    /// One text for one variant: sorted fields, no spaces, defaults of transformers spelled out.
    public var canonicalJSON: String { json.canonicalText }

    /// Refuses what contradicts itself: every frame in a format that holds one.
    ///
    /// - Parameter path: where the variant stands in its document; default the document itself.
    /// - Throws: `VariantError` with the JSON path.
    public func validateSupported(path: String = "$") throws(VariantError) {
        if everyFrame, let format, !OutputFormat.animated.contains(format) {
            throw VariantError(path: "\(path).everyFrame", message: "needs gif or webp; a \(format.name) has one frame")
        }
    }
}

extension Variant.Thumbnail {
    init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        width = try fields.requiredSize("width")
        height = try fields.requiredSize("height")
        preserveAspectRatio = try fields.bool("preserveAspectRatio", default: true)
        try fields.finish()
    }

    /// A box that always keeps the aspect.
    fileprivate init(boxOf value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        width = try fields.requiredSize("width")
        height = try fields.requiredSize("height")
        preserveAspectRatio = true
        try fields.finish()
    }

    var json: JSONValue {
        .object([
            "width": .number(width), "height": .number(height), "preserveAspectRatio": .bool(preserveAspectRatio),
        ])
    }
}
