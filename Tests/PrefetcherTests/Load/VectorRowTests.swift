import Foundation
import TestSupport
import Testing

/// Tests/SDWebImage.md lists every vector with its test suite.
struct VectorRowTests {
    private struct Row: Decodable {
        let test: String?
        let name: String?
    }

    private struct Rows: Decodable {
        let asserted: [Row]?
        let derived: [Row]?
        let failed_url_flows: [Row]?
        let store_flows: [Row]?
    }

    @Test(arguments: [("prefetcher", 18), ("manager", 30), ("downloader", 13)])
    func `are all listed in Tests/SDWebImage.md`(part: String, count: Int) throws {
        let target = part == "downloader" ? "DownloaderTests" : "PrefetcherTests"
        let file = URL(filePath: "\(PackageRoot.path)/Tests/\(target)/Vectors/\(part)_vectors.json")
        let rows = try JSONDecoder().decode(Rows.self, from: Data(contentsOf: file))
        let names = [rows.asserted, rows.derived, rows.failed_url_flows, rows.store_flows].flatMap { $0 ?? [] }
            .compactMap { $0.test.map { "`\($0.split(separator: ".").last ?? "")`" } ?? $0.name }
        #expect(names.count == count)
        let page = try String(contentsOfFile: PackageRoot.path + "/Tests/SDWebImage.md", encoding: .utf8)
        let section = try #require(page.range(of: "\n### \(part.capitalized)\n"))
        let cells = page[section.upperBound...].prefix { $0 != "#" }.split(separator: "\n").filter {
            $0.hasPrefix("| ")
        }
        .compactMap { $0.split(separator: "|").first }
        for name in names { #expect(cells.contains { $0.contains(name) }, "\(name)") }
    }
}
