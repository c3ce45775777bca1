import Foundation
import Testing

/// The arrows between targets, as docs/architecture.md draws them.
@Suite(.timeLimit(.minutes(1)))
struct TargetGraphTests {
    /// A target may depend on the targets above it in this list and on no other.
    static let order = [
        "ImageModel", "Concurrency", "Downloader", "DiskCache", "ObjectStore", "Transcoder", "Codecs",
        "larder-transcoder", "Prefetcher", "JobQueue", "EmbeddedPostgres", "Worker", "Terminal", "CommandLine",
        "HTTPServer", "Telemetry", "Reports", "Lists", "Dashboard", "Monitoring", "Commands", "larder", "Measuring",
        "Lab", "larder-lab",
    ]

    /// The targets that import each C library: one, but GLib computes digests, widths of characters and
    /// options.
    static let owners: [String: Set<String>] = [
        "CCurl": ["Downloader"], "CCompression": ["Downloader"], "CCares": ["Downloader"], "CCrypto": ["ImageModel"],
        "CVips": ["Codecs"], "CWebP": ["Codecs"], "CAVIF": ["Codecs"], "CSpng": ["Codecs"], "CPlanes": ["Codecs"],
        "CPostgres": ["JobQueue"], "CArchive": ["DiskCache"], "CCSV": ["Reports"],
        "CICU": ["DiskCache"], "CMicroHTTPD": ["HTTPServer"], "CTOML": ["CommandLine"], "CExpat": ["ObjectStore"],
        "CGLib": ["DiskCache", "Terminal", "CommandLine"],
    ]

    /// Pairs that must not meet, whatever the order allows.
    static let apart: [(String, Set<String>)] = [
        ("Downloader", ["JobQueue", "Transcoder", "DiskCache", "CPostgres", "CVips"]),
        ("Prefetcher", ["JobQueue", "CPostgres"]),
        ("JobQueue", ["Downloader", "Transcoder", "DiskCache", "Prefetcher"]),
        ("Transcoder", ["Downloader", "DiskCache", "JobQueue", "Codecs", "CVips"]),
        ("larder-transcoder", ["Downloader", "DiskCache", "JobQueue", "Prefetcher"]),
        ("DiskCache", ["Downloader", "Transcoder", "JobQueue"]),
        ("Terminal", ["Downloader", "DiskCache", "Transcoder", "JobQueue"]),
        ("CommandLine", ["Downloader", "DiskCache", "Transcoder", "JobQueue"]),
        ("HTTPServer", ["Downloader", "DiskCache", "Transcoder", "JobQueue"]),
        ("Dashboard", ["CommandLine", "Worker"]),
        ("larder", ["Lab", "Measuring", "Codecs"]),
        ("Lab", ["Commands", "Codecs"]),
    ]

    private let manifest: PackageManifest

    init() throws { manifest = try PackageManifest() }

    @Test func `every Swift target below Sources has a place in the order`() throws {
        let directories = try FileManager.default.contentsOfDirectory(atPath: manifest.root + "/Sources")
        let swift = directories.filter { !manifest.sources(of: $0).isEmpty }
        #expect(Set(swift) == Set(Self.order))
    }

    @Test(arguments: order) func `no arrow points up`(target: String) throws {
        let place = try #require(Self.order.firstIndex(of: target))
        let below = Set(Self.order[..<place])
        #expect(manifest.dependencies(of: target).intersection(Self.order).subtracting(below) == [])
    }

    @Test(arguments: order) func `a target imports only what the manifest gives it`(target: String) throws {
        let given = manifest.dependencies(of: target)
        let known = Set(manifest.targets.map(\.name))
        for file in manifest.sources(of: target) {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let imports = Set(text.matches(of: /(?m)^(?:\w+ )?import (\w+)$/).map { String($0.1) })
            #expect(imports.intersection(known).subtracting(given) == [], "\(file)")
        }
    }

    @Test(arguments: order) func `a dependency is used`(target: String) throws {
        let text = try text(of: target)
        let imports = Set(text.matches(of: /(?m)^(?:\w+ )?import (\w+)$/).map { String($0.1) })
        #expect(manifest.dependencies(of: target).subtracting(imports) == [])
    }

    @Test func `each C library is imported by its owner alone`() {
        for target in Self.order {
            for (library, owners) in Self.owners where manifest.dependencies(of: target).contains(library) {
                #expect(owners.contains(target), "\(target) depends on \(library)")
            }
        }
    }

    @Test func `targets that must stay apart do not reach each other`() {
        func reached(from target: String) -> Set<String> {
            manifest.dependencies(of: target).reduce(into: []) { all, next in
                all.insert(next)
                all.formUnion(reached(from: next))
            }
        }
        for (target, forbidden) in Self.apart {
            #expect(reached(from: target).intersection(forbidden) == [], "\(target)")
        }
    }

    @Test func `JobQueue has at most 35 public types`() throws {
        let declaration = /(?m)^ *public (?:final )?(?:struct|enum|class|actor|protocol|typealias) (\w+)/
        let types = try text(of: "JobQueue").matches(of: declaration).map { String($0.1) }
        #expect(types.contains("PostgresJobQueue"))
        #expect(types.count <= 35, "\(types)")
    }

    @Test func `PostgresJobQueue checks and closes, and its facades have all other public calls`() throws {
        let own = /(?ms)^(?:public final class PostgresJobQueue: Sendable|extension PostgresJobQueue) \{$.*?^\}$/
        let bodies = try text(of: "JobQueue").matches(of: own).map { String($0.0) }.joined()
        let functions = bodies.matches(of: /(?m)^ +public (?:static )?func (\w+)/).map { String($0.1) }
        #expect(functions.sorted() == ["checkReady", "close"])
        let facades = bodies.matches(of: /(?m)^    public var (\w+): [A-Z]\w+ \{/).map { String($0.1) }
        #expect(facades.sorted() == ["producer", "reports", "workers"])
    }

    /// All sources of a target.
    private func text(of target: String) throws -> String {
        try manifest.sources(of: target).map { try String(contentsOfFile: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    @Test func `the architecture page names every target`() throws {
        let page = try String(contentsOfFile: manifest.root + "/docs/architecture.md", encoding: .utf8)
        for target in Self.order { #expect(page.contains("`\(target)`"), "\(target)") }
    }
}
