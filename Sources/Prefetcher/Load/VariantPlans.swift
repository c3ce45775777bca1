internal import Concurrency
internal import DiskCache
internal import ImageModel

/// Values computed once per variant list instead of per image: a worker loads millions of images with one pipeline.
final class VariantPlans: Sendable {
    /// A variant with the inputs of its keys and record.
    struct Plan: Sendable {
        let variant: Variant
        /// The suffixes that its key adds to the original's, or why it has no key.
        let suffixes: Result<[String], VariantError>
        let recipe: String
    }

    private struct Known {
        let variants: [Variant]
        let naming: String
        let plans: [Plan]
    }

    /// Lists kept; the oldest is dropped.
    private static let limit = 16

    private let known = Locked<[Known]>([])

    func plans(of variants: [Variant], _ naming: any CacheNaming) -> [Plan] {
        if variants.isEmpty { return [] }
        // Comparing an array with a copy of itself compares only their addresses.
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
