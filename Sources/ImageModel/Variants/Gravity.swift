/// The part of an image that stays if a canvas crops it.
package enum Gravity: Sendable, Hashable {
    /// A point of the image, placed as near to the canvas' centre as possible, in fractions of the sides from the top
    /// left.
    case point(x: Double, y: Double)
    /// The part that libvips prefers.
    case interest(Interest)

    /// How libvips rates a part.
    package enum Interest: String, Sendable, Hashable, CaseIterable {
        /// Edges, skin and saturated colours.
        case attention
        /// The most different values.
        case entropy
    }

    /// The middle, SDWebImage's choice.
    package static let center = Gravity.point(x: 0.5, y: 0.5)

    private static let names: [(name: String, gravity: Gravity)] = [
        ("topLeft", .point(x: 0, y: 0)), ("top", .point(x: 0.5, y: 0)), ("topRight", .point(x: 1, y: 0)),
        ("left", .point(x: 0, y: 0.5)), ("center", .center), ("right", .point(x: 1, y: 0.5)),
        ("bottomLeft", .point(x: 0, y: 1)), ("bottom", .point(x: 0.5, y: 1)), ("bottomRight", .point(x: 1, y: 1)),
    ]

    private static func named(_ name: String) -> Gravity? { names.first { $0.name == name }?.gravity }

    /// - Throws: `VariantError` with the JSON path.
    init(_ value: JSONValue, path: String) throws(VariantError) {
        switch value {
        case .string(let name):
            guard let gravity = Self.named(name) ?? Interest(rawValue: name).map(Gravity.interest) else {
                let names = Self.names.map(\.name) + Interest.allCases.map(\.rawValue)
                throw VariantError(
                    path: path, message: "must be a point {\"x\":0…1,\"y\":0…1}, \(names.joined(separator: ", "))")
            }
            self = gravity
        default:
            var fields = try JSONFields(value, path: path)
            let x = try fields.requiredNumber("x", in: 0...1)
            let y = try fields.requiredNumber("y", in: 0...1)
            try fields.finish()
            self = .point(x: x, y: y)
        }
    }

    var json: JSONValue {
        switch self {
        case .interest(let interest): return .string(interest.rawValue)
        case .point(let x, let y):
            if let named = Self.names.first(where: { $0.gravity == self }) { return .string(named.name) }
            return .object(["x": .number(x), "y": .number(y)])
        }
    }

    /// In keys: a name, or a point in braces.
    var keyText: String {
        if case .string(let name) = json { return name }
        guard case .point(let x, let y) = self else { return "" }
        return "{\(x.keyText),\(y.keyText)}"
    }
}
