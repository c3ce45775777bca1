internal import Concurrency
internal import DiskCache
internal import ImageModel

/// What lists of variants have in common for all images, computed once for each list: a worker loads millions of images
/// with one pipeline.
final class VariantPlans: Sendable {
    /// A variant, with what its keys and its record need.
    struct Plan: Sendable {
        let variant: Variant
        /// The texts that its key adds to the original's, or why it has no key.
        let suffixes: Result<[String], VariantError>
        /// The hash of its recipe.
        let recipe: String
    }

    private struct Known {
        let variants: [Variant]
        let naming: String
        let plans: [Plan]
    }

    /// Lists that are remembered; the oldest is forgotten.
    private static let limit = 16

    private let known = Locked<[Known]>([])

    /// The plans of a list, in its order.
    func plans(of variants: [Variant], _ naming: any CacheNaming) -> [Plan] {
        if variants.isEmpty { return [] }
        // Comparing an array with a copy of itself compares their addresses.
        let found = known.withLock { known in
            known.first { $0.naming == naming.name && $0.variants == variants }?.plans
        }
        if let found { return found }
        let plans = variants.map { variant in
            Plan(
                variant: variant,
                suffixes: Result { () throws(VariantError) in try naming.suffixes(of: variant) },
                recipe: variant.recipe)
        }
        known.withLock { known in
            if known.count == Self.limit { known.removeFirst() }
            known.append(Known(variants: variants, naming: naming.name, plans: plans))
        }
        return plans
    }
}
