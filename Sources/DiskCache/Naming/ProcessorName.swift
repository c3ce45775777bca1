internal import ImageModel

/// Numbers in the identifiers of Kingfisher's and Nuke's processors, and the variants that neither can make.
///
/// Both put Core Graphics values into Swift strings: `CGFloat` prints as a `Double`, `CGSize` and `CGPoint` as pairs
/// (`debugDescription`).
enum ProcessorName {
    /// `(200.0, 100.0)`.
    static func pair(_ first: Double, _ second: Double) -> String { "(\(first), \(second))" }

    /// The error of a variant, or of the transformer with this index, without an equivalent in `library`.
    static func refusal(_ variant: Variant, _ index: Int, _ library: String, _ reason: String) -> VariantError {
        VariantError(
            path: "$.transform[\(index)]",
            message: "\(variant.transforms[index].typeName) has no equal in \(library): \(reason)")
    }

    /// Refuses a trimmed border and chosen animation frames, which no app draws. Fields that only concern encoding are
    /// part of no key.
    static func check(_ variant: Variant, _ library: String) throws(VariantError) {
        if variant.trim != nil {
            throw VariantError(path: "$.trim", message: "has no equal in \(library)")
        }
        if variant.animation != nil {
            throw VariantError(path: "$.animation", message: "has no equal in \(library)")
        }
    }

    /// Refuses a variant without an identifier, as its key would be the original's.
    static func checkNotEmpty(_ identifiers: [String]) throws(VariantError) {
        guard identifiers.isEmpty else { return }
        throw VariantError(path: "$", message: "has the original's cache key; give it a keySuffix")
    }

    static func isDigest(_ name: String, digits: Int) -> Bool {
        name.utf8.count == digits
            && name.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
