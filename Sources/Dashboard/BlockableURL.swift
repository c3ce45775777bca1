import Downloader
import ObjectStore

/// Which texts can be blocked.
package enum BlockableURL {
    /// In bytes.
    package static let limit = 8192

    /// Whether 'enqueue' accepts the URL.
    package static func isURL(_ text: String) -> Bool {
        text.utf8.count <= limit && ((try? SourceURL(text)) != nil || (try? ObjectURL(text)) != nil)
    }
}
