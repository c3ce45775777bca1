import Foundation
import Testing

/// The data inside a report's page, of which its script makes the rest.
struct PageData {
    let report: [String: Any]
    /// `[url, outcome, error, files, thumbHash, colour, frames, attempts]`, of all parts.
    let items: [[Any]]
    /// `[item, file, WebP in base64]`, of all parts.
    let pictures: [[Any]]
    let names: [String], errors: [String]

    init(_ page: String) throws {
        func objects(_ mark: String) throws -> [[String: Any]] {
            try page.components(separatedBy: "<script type=\"application/json\" \(mark)>").dropFirst().map { part in
                let text = try #require(part.components(separatedBy: "</script>").first)
                return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            }
        }
        report = try #require(try objects("id=\"report\"").first)
        let parts = try objects("class=\"images\"")
        items = parts.flatMap { $0["items"] as? [[Any]] ?? [] }
        pictures = parts.flatMap { $0["pictures"] as? [[Any]] ?? [] }
        names = parts.flatMap { $0["names"] as? [String] ?? [] }
        errors = parts.flatMap { $0["errors"] as? [String] ?? [] }
    }

    /// As in `report --format json`.
    var statistics: [String: Any] { report["statistics"] as? [String: Any] ?? [:] }
}
