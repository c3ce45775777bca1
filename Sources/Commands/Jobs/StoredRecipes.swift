import CommandLine
import ImageModel
import JobQueue
import Terminal

/// Recipes of a pipeline's variants for which another pipeline or version has the same key and another recipe: existing
/// files stay unless remade.
struct StoredRecipes {
    private let queue: PostgresJobQueue
    private let wanted: [WantedRecipe]

    /// Compares variants with the newest pipelines.
    init(of variants: [Variant], in queue: PostgresJobQueue) async throws(QueueError) {
        self.queue = queue
        guard !variants.isEmpty else {
            wanted = []
            return
        }
        var others: [[String]: [(pipeline: Int, variant: Variant)]] = [:]
        for stored in try await queue.reports.recentPipelines() {
            // SQL stores any JSON.
            for variant in (try? Pipeline(json: stored.spec.utf8))?.variants ?? [] {
                others[variant.keySuffixes, default: []].append((stored.id, variant))
            }
        }
        wanted = variants.flatMap { variant -> [WantedRecipe] in
            let recipe = variant.recipe
            let same = others[variant.keySuffixes] ?? []
            guard same.contains(where: { $0.variant.recipe != recipe }) else { return [] }
            return same.map { WantedRecipe(pipeline: $0.pipeline, variant: $0.variant.name, recipe: recipe) }
        }
    }

    /// Differing stored variants of these images; of all images by default.
    func differing(_ urls: [String]? = nil) async throws(QueueError) -> Int {
        try await queue.reports.differingVariants(wanted, of: urls)
    }

    /// `3 variants differ from their stored recipe`; nil for none.
    static func text(_ count: Int) -> String? {
        guard count > 0 else { return nil }
        return "\(count.counted("variant")) \(count == 1 ? "differs" : "differ") from "
            + "\(count == 1 ? "its" : "their") stored recipe"
    }

    static let remakeOption = Option(
        "remake",
        "make the variants again, from the stored originals, that were stored by another recipe under the same key")
}
