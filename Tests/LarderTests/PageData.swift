import Foundation
import Testing

/// The data inside a report's page, of which its script makes the rest.
struct PageData {
    let report: [String: Any]
    /// As in `report --format json`, with `BATCH` in the advice on one batch.
    let statistics: [String: Any]
    /// `[url, outcome, error, files, thumbHash, colour, frames, attempts]`, of all parts.
    let items: [[Any]]
    /// `[item, file, WebP in base64]`.
    let pictures: [[Any]]
    let names: [String], errors: [String]

    init(_ page: String) throws {
        func objects(_ mark: String) throws -> [Any] {
            try page.components(separatedBy: "<script type=\"application/json\" \(mark)>").dropFirst().map { part in
                let text = try #require(part.components(separatedBy: "</script>").first)
                return try JSONSerialization.jsonObject(with: Data(text.utf8))
            }
        }
        report = try #require(try objects("id=\"report\"").first as? [String: Any])
        statistics = try #require(try objects("class=\"statistics\"").first as? [String: Any])
        let parts = try objects("class=\"images\"").compactMap { $0 as? [String: Any] }
        items = parts.flatMap { $0["items"] as? [[Any]] ?? [] }
        pictures = try objects("class=\"pictures\"").flatMap { $0 as? [[Any]] ?? [] }
        names = parts.flatMap { $0["names"] as? [String] ?? [] }
        errors = parts.flatMap { $0["errors"] as? [String] ?? [] }
    }
}
