extension Variant {
    /// Maximum transformers of a variant.
    public static let transformLimit = 16

    /// The first 16 digits of the SHA-256 of its canonical JSON without name and budget: variants with one key and
    /// different recipes make different files.
    public var recipe: String {
        var fields = json
        if case .object(var object) = fields {
            object["name"] = nil
            object["budget"] = nil
            fields = .object(object)
        }
        return String(SHA256Digest.hex(of: fields.canonicalText.utf8).prefix(16))
    }

    /// Parses a variant's JSON.
    ///
    /// - Parameters:
    ///   - json: UTF-8 text.
    ///   - path: its JSON path, for errors; `$` by default.
    /// - Throws: `VariantError` for unknown fields, wrong types, and values from which SDWebImage makes no image.
    public init(json: some Sequence<UInt8>, path: String = "$") throws(VariantError) {
        try self.init(try JSONValue.parse(Array(json)), path: path)
    }

    package init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        name = try fields.requiredName("name")
        trim = try fields.take("trim").map { value throws(VariantError) in try Trim(value, path: "\(path).trim") }
        thumbnail = try fields.take("thumbnail").map { value throws(VariantError) in
            try Thumbnail(value, path: "\(path).thumbnail", fixesAspect: false)
        }
        transforms =
            try fields.take("transform")?.list(
                path: "\(path).transform", limit: Self.transformLimit, of: "transformers", Transform.init) ?? []
        let formatName = try fields.string("format")
        format = ImageFormat.outputs.first { $0.name == formatName }
        automatic = formatName == AutomaticFormat.name ? try AutomaticFormat(&fields) : nil
        if formatName != nil && format == nil && automatic == nil {
            let names = ImageFormat.outputs.map(\.name) + [AutomaticFormat.name]
            throw fields.refusal("format", "must be one of \(names.joined(separator: ", "))")
        }
        if automatic == nil && fields.take("formats") != nil {
            throw fields.refusal("formats", "needs format \(AutomaticFormat.name)")
        }
        quality = try fields.integer("quality", in: 0...100)
        let format = format
        encode = try fields.take("encode").flatMap { value throws(VariantError) in
            let options = try EncoderOptions(value, path: "\(path).encode", format: format)
            return options.text.isEmpty ? nil : options
        }
        maxBytes = try fields.integer("maxBytes", in: 1...Int(Int32.max))
        budget = try fields.take("budget").map { value throws(VariantError) in
            var budget = try JSONFields(value, path: "\(path).budget")
            guard let bytes = try budget.integer("maxBytes", in: 1...Int(Int32.max)) else {
                throw budget.refusal("maxBytes", "is missing")
            }
            try budget.finish()
            return bytes
        }
        maxPixelSize = try fields.take("maxPixelSize").map { value throws(VariantError) in
            try Thumbnail(value, path: "\(path).maxPixelSize", fixesAspect: true)
        }
        background = try fields.color("background")
        animation = try fields.choice("animation")
        ssim = try fields.number("ssim", in: 0.5...0.9999)
        keepICC = try fields.bool("keepICC", default: false)
        keepCopyright = try fields.bool("keepCopyright", default: false)
        keySuffix = try fields.string("keySuffix")
        if keySuffix?.isEmpty == true { throw fields.refusal("keySuffix", "must not be empty") }
        try fields.finish()
        if automatic != nil {
            if maxBytes != nil { throw fields.refusal("maxBytes", "contradicts format auto") }
            if animation == .frames { throw fields.refusal("animation", "needs one format; auto is for one frame") }
        }
        if trim != nil && animation == .frames { throw fields.refusal("trim", "is for one frame") }
        if let conflict = ssimConflict { throw fields.refusal("ssim", conflict) }
    }

    /// Why the requested similarity is impossible; nil if it is possible.
    private var ssimConflict: String? {
        guard ssim != nil else { return nil }
        if let format, format.output?.defaultQuality == nil { return "is not a field of \(format.name)" }
        if maxBytes != nil { return "contradicts maxBytes" }
        if encode?.lossless == true { return "contradicts lossless" }
        return animation == .frames ? "is for one frame" : nil
    }

    /// The JSON that parses to this variant; absent fields stay absent.
    package var json: JSONValue {
        let fields: [String: JSONValue?] = [
            "name": .string(name), "trim": trim?.json, "thumbnail": thumbnail?.json,
            "transform": transforms.isEmpty ? nil : .array(transforms.map(\.json)),
            "format": automatic.map { _ in .string(AutomaticFormat.name) } ?? format.map { .string($0.name) },
            "formats": automatic?.json, "quality": quality.map { .number(Double($0)) },
            "maxBytes": maxBytes.map { .number(Double($0)) },
            "budget": budget.map { .object(["maxBytes": .number(Double($0))]) },
            "encode": encode?.json, "ssim": ssim.map { .number($0) },
            "maxPixelSize": maxPixelSize.map { .object(["width": .number($0.width), "height": .number($0.height)]) },
            "animation": animation.map { .string($0.rawValue) }, "keepICC": keepICC ? .bool(true) : nil,
            "keepCopyright": keepCopyright ? .bool(true) : nil, "background": background.map { .string($0.text) },
            "keySuffix": keySuffix.map { .string($0) },
        ]
        return .object(fields.compactMapValues(\.self))
    }

    /// A unique text: sorted fields, no spaces, with the transformers' defaults.
    public var canonicalJSON: String { json.canonicalText }

    /// Refuses a contradictory variant: every frame in a still format, or in a PNG with a palette or passes, which its
    /// frames would have to share.
    ///
    /// - Parameter path: its JSON path, for errors; `$` by default.
    /// - Throws: `VariantError` with the JSON path.
    public func validateSupported(path: String = "$") throws(VariantError) {
        guard animation == .frames, let format else { return }
        if format == .png, let field = encode?.ofOneImage {
            throw VariantError(path: "\(path).encode.\(field)", message: "is for a png with one frame")
        }
        guard format.output?.holdsFrames != true else { return }
        let animated = ImageFormat.outputs.filter { $0.output?.holdsFrames == true }.map(\.name)
        throw VariantError(
            path: "\(path).animation",
            message: "needs \(animated.dropLast().joined(separator: ", ")) or \(animated.last ?? ""); "
                + "a \(format.name) has one frame")
    }
}

extension Variant.Thumbnail {
    /// - Parameter fixesAspect: whether the box always keeps the aspect ratio and has no field for it.
    fileprivate init(_ value: JSONValue, path: String, fixesAspect: Bool) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        width = try fields.requiredSize("width")
        height = try fields.requiredSize("height")
        preserveAspectRatio = fixesAspect ? true : try fields.bool("preserveAspectRatio", default: true)
        try fields.finish()
    }

    fileprivate var json: JSONValue {
        .object([
            "width": .number(width), "height": .number(height), "preserveAspectRatio": .bool(preserveAspectRatio),
        ])
    }
}
