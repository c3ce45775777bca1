package import Prefetcher

/// A load stage's name in metrics and progress lines.
package struct LoadStageName {
    let stage: LoadError.Stage
    let name: String

    /// In job order.
    static let all = [
        LoadStageName(stage: .lookUp, name: "look_up"), LoadStageName(stage: .fetch, name: "fetch"),
        LoadStageName(stage: .transcode, name: "transcode"), LoadStageName(stage: .store, name: "store"),
    ]

    /// `3 fetch, 2 transcode`; nil without loads.
    package static func text(_ inFlight: [LoadError.Stage: Int]) -> String? {
        let parts = all.compactMap { name in inFlight[name.stage].map { "\($0) \(name.name)" } }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
