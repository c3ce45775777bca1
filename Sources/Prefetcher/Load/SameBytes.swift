internal import Concurrency
internal import DiskCache
internal import Downloader
internal import ImageModel
internal import Transcoder

/// The latest images of a manager by their originals' bytes. Another URL with the same bytes gets copies of the files
/// instead of being decoded again.
final class SameBytes: Sendable {
    /// Everything that the files depend on.
    struct Question: Hashable, Sendable {
        let sha256: [UInt8]
        let recipes: [String]
        let scale: Double
        let drawing: TranscodeRequest.Options
        let scaleDownLimit: Int?
        /// The context's coder; nil if the bytes decide.
        let coder: String?

        /// Nil if this load did not download the original, or if a caller's code contributes to the files.
        init?(_ commit: CacheCommit) {
            let plan = commit.plan
            guard let original = commit.original, !original.response.sha256.isEmpty, plan.decryptor == nil,
                plan.serializer == nil, plan.variantStore.contains(.disk), !commit.missing.isEmpty,
                !plan.request.options.contains(.remake),
                // A watermark's file may have changed.
                commit.missing.allSatisfy(\.variant.watermarks.isEmpty)
            else { return nil }
            sha256 = original.response.sha256
            recipes = commit.missing.map(\.recipe)
            (scale, drawing, scaleDownLimit) = (plan.scale, plan.drawing, plan.scaleDownLimit)
            coder = plan.coder
        }
    }

    private struct File: Sendable {
        let key: CacheKey
        let sha256: String
    }

    private struct Made: Sendable {
        let report: TranscodeReport
        let files: [File]
    }

    private struct State {
        var made: [Question: Made] = [:]
        /// A ring buffer: the oldest entry is replaced.
        var order: [Question] = []
        var next = 0
    }

    /// Images remembered, about 1 kB each.
    private static let limit = 10_000

    private let state = Locked(State())

    /// Copies the files of an image with the same bytes into `commit`; false if there is none, or one of its files was
    /// removed or changed. Blocks.
    func fill(_ commit: inout CacheCommit, _ question: Question) throws(StoreError) -> Bool {
        guard let made = state.withLock({ $0.made[question] }) else { return false }
        let cache = commit.plan.cache
        var outputs: [TemporaryFile] = []
        for file in made.files {
            guard let found = try cache.peek(named: cache.naming.fileName(of: file.key)) else { return false }
            let output = try cache.begin()
            var digest = SHA256Digest()
            try found.forEachBlock { (bytes) throws(StoreError) in
                digest.update(bytes)
                try output.write(bytes)
            }
            guard SHA256Digest.hex(digest.finish()) == file.sha256 else { return false }
            outputs.append(output)
        }
        commit.outputs = outputs
        commit.transcoded = made.report
        commit.isReused = true
        return true
    }

    func remember(_ commit: CacheCommit, _ question: Question, _ stored: [StoredFile]) {
        guard !commit.isReused, let report = commit.transcoded else { return }
        let made = Dictionary(stored.lazy.filter { $0.name != nil }.map { ($0.key, $0) }) { first, _ in first }
        let files = commit.missing.compactMap { entry -> File? in
            guard let key = entry.key, let sha256 = made[key.text]?.sha256 else { return nil }
            return File(key: key, sha256: sha256)
        }
        guard files.count == report.variants.count else { return }
        let whole = TranscodeReport(
            source: report.source, variants: report.variants, digest: report.digest, processorTime: .zero,
            peakResidentBytes: report.peakResidentBytes)
        state.withLock { state in
            if state.made.updateValue(Made(report: whole, files: files), forKey: question) != nil { return }
            guard state.order.count == Self.limit else { return state.order.append(question) }
            state.made[state.order[state.next]] = nil
            state.order[state.next] = question
            state.next = (state.next + 1) % Self.limit
        }
    }
}
