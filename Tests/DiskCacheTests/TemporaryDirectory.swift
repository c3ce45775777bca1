import Foundation

/// A directory for one test, deleted with it.
final class TemporaryDirectory: Sendable {
    let url: URL
    var path: String { url.path }

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "disk-cache-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The names in one of its directories, hidden ones included, except the marker files of an open cache.
    func names(in subdirectory: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.appending(path: subdirectory).path)
            .filter { !$0.hasPrefix(".larder-open.") && !$0.hasPrefix(".larder-swept.") }.sorted()
    }
}
