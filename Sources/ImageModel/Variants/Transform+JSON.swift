extension Transform {
    init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        guard let type = try fields.string("type") else { throw fields.refusal("type", "is missing") }
        switch type {
        case "resize":
            let width = try fields.requiredSize("width")
            let height = try fields.requiredSize("height")
            let mode = try Self.scaleMode(&fields)
            self = .resize(width: width, height: height, scaleMode: mode, try Placement(&fields, mode))
        case "crop":
            let x = try fields.requiredNumber("x")
            let y = try fields.requiredNumber("y")
            let width = try fields.requiredSize("width")
            self = .crop(x: x, y: y, width: width, height: try fields.requiredSize("height"))
        case "flip":
            let horizontal = try fields.bool("horizontal", default: false)
            self = .flip(horizontal: horizontal, vertical: try fields.bool("vertical", default: false))
        case "rotate":
            let angle = try fields.requiredNumber("angle")
            self = .rotate(angle: angle, fitSize: try fields.bool("fitSize", default: false))
        case "roundCorner":
            let radius = try fields.requiredNumber("radius")
            let corners = try Self.corners(&fields)
            let border = try fields.number("borderWidth") ?? 0
            self = .roundCorner(
                radius: radius, corners: corners, borderWidth: border, borderColor: try fields.color("borderColor"))
        case "tint":
            guard let color = try fields.color("color") else { throw fields.refusal("color", "is missing") }
            self = .tint(color: color, blendMode: try Self.blendMode(&fields))
        case "blur":
            self = .blur(radius: try fields.requiredNumber("radius"))
        case "filter":
            let name = try fields.requiredName("name")
            let parameters = try Self.parameters(&fields)
            do throws(VariantError) {
                self = .filter(try Filter(name: name, parameters: parameters))
            } catch {
                throw fields.refusal(error.path, error.message)
            }
        case "watermark": self = .watermark(try Watermark(&fields))
        case "pad": self = try Self.pad(&fields)
        case "sharpen":
            let sigma = try fields.number("sigma", in: 0.01...10) ?? 0.5
            self = .sharpen(sigma: sigma, amount: try fields.number("amount", in: 0...10) ?? 3)
        default:
            throw fields.refusal("type", "is not a known transformer")
        }
        try fields.finish()
    }

    private static func scaleMode(_ fields: inout JSONFields) throws(VariantError) -> ScaleMode {
        guard let name = try fields.string("scaleMode") else { return .fill }
        guard let mode = ScaleMode.allCases.first(where: { "\($0)" == name }) else {
            throw fields.refusal("scaleMode", "must be fill, aspectFit or aspectFill")
        }
        return mode
    }

    private static func pad(_ fields: inout JSONFields) throws(VariantError) -> Transform {
        let longest = 0...100_000.0
        let top = try fields.number("top", in: longest) ?? 0, left = try fields.number("left", in: longest) ?? 0
        let bottom = try fields.number("bottom", in: longest) ?? 0, right = try fields.number("right", in: longest) ?? 0
        guard max(top, left, bottom, right) > 0 else { throw fields.refusal(nil, "needs top, left, bottom or right") }
        return .pad(top: top, left: left, bottom: bottom, right: right, color: try fields.color("color"))
    }

    private static func corners(_ fields: inout JSONFields) throws(VariantError) -> Corners {
        switch fields.take("corners") {
        case nil, .string("all"): return .all
        case .array(let values):
            var corners: Corners = []
            for (index, value) in values.enumerated() {
                guard case .string(let name) = value, let known = Corners.names.first(where: { $0.name == name }) else {
                    throw fields.refusal("corners[\(index)]", "must be topLeft, topRight, bottomLeft or bottomRight")
                }
                corners.insert(known.corner)
            }
            return corners
        default: throw fields.refusal("corners", "must be \"all\" or a list of corners")
        }
    }

    private static func parameters(_ fields: inout JSONFields) throws(VariantError) -> [String: Double] {
        guard let value = fields.take("parameters") else { return [:] }
        guard case .object(let given) = value else { throw fields.refusal("parameters", "must be an object") }
        var parameters: [String: Double] = [:]
        for (name, value) in given {
            guard case .number(let number) = value else {
                throw fields.refusal("parameters.\(name)", "must be a number")
            }
            parameters[name] = number
        }
        return parameters
    }

    private static func blendMode(_ fields: inout JSONFields) throws(VariantError) -> BlendMode {
        let mode: BlendMode? =
            switch fields.take("blendMode") {
            case nil: .sourceIn
            case .string(let name): BlendMode.allCases.first { $0.name == name }
            case .number(let number): Int(exactly: number).flatMap(BlendMode.init(rawValue:))
            default: nil
            }
        guard let mode else {
            throw fields.refusal("blendMode", "must be the name of a blend mode or its number, 0 to 27")
        }
        return mode
    }

    /// The JSON that parses to this transformer, including defaults.
    var json: JSONValue {
        let fields: [String: JSONValue?] =
            switch self {
            case .resize(let width, let height, let mode, let placement):
                [
                    "width": .number(width), "height": .number(height), "scaleMode": .string("\(mode)"),
                    "gravity": placement.gravity == .center ? nil : placement.gravity.json,
                    "enlarge": placement.enlarges ? nil : .bool(false),
                ]
            case .crop(let x, let y, let width, let height):
                ["x": .number(x), "y": .number(y), "width": .number(width), "height": .number(height)]
            case .flip(let horizontal, let vertical):
                ["horizontal": .bool(horizontal), "vertical": .bool(vertical)]
            case .rotate(let angle, let fitSize): ["angle": .number(angle), "fitSize": .bool(fitSize)]
            case .roundCorner(let radius, let corners, let border, let color):
                [
                    "radius": .number(radius), "borderWidth": .number(border), "corners": corners.json,
                    "borderColor": color.map { .string($0.text) },
                ]
            case .tint(let color, let mode): ["color": .string(color.text), "blendMode": .string(mode.name)]
            case .blur(let radius): ["radius": .number(radius)]
            case .pad(let top, let left, let bottom, let right, let color):
                [
                    "top": .number(top), "left": .number(left), "bottom": .number(bottom), "right": .number(right),
                    "color": color.map { .string($0.text) },
                ]
            case .watermark(let watermark): watermark.fields
            case .sharpen(let sigma, let amount): ["sigma": .number(sigma), "amount": .number(amount)]
            case .filter(let filter):
                [
                    "name": .string(filter.name),
                    "parameters": filter.parameters.isEmpty
                        ? nil : .object(filter.parameters.mapValues { .number($0) }),
                ]
            }
        return .object(["type": .string(typeName)].merging(fields.compactMapValues(\.self)) { $1 })
    }
}

extension Transform.Placement {
    fileprivate init(_ fields: inout JSONFields, _ mode: Transform.ScaleMode) throws(VariantError) {
        self.init()
        let path = "\(fields.path).gravity"
        if let value = fields.take("gravity") {
            guard mode == .aspectFill else { throw fields.refusal("gravity", "needs scaleMode aspectFill") }
            gravity = try Gravity(value, path: path)
        }
        enlarges = try fields.bool("enlarge", default: true)
    }
}

extension Corners {
    fileprivate var json: JSONValue {
        self == .all ? .string("all") : .array(Self.names.filter { contains($0.corner) }.map { .string($0.name) })
    }
}
