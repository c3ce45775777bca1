import Foundation
import Testing

/// The arrows between targets, as docs/architecture.md draws them.
@Suite(.timeLimit(.minutes(1)))
struct TargetGraphTests {
    /// A target may depend on the targets above it in this list and on no other.
    static let order = [
        "ImageModel", "Concurrency", "Downloader", "DiskCache", "ObjectStore", "Transcoder", "Prefetcher", "JobQueue",
        "EmbeddedPostgres",
        "Worker", "Measuring", "larder",
    ]

    /// The targets that import each C library: one, but GLib has one user for digests and one for options.
    static let owners: [String: Set<String>] = [
        "CCurl": ["Downloader"], "CCares": ["Downloader"], "CCrypto": ["ImageModel"],
        "CVips": ["Transcoder"], "CWebP": ["Transcoder"], "CAVIF": ["Transcoder"], "CSpng": ["Transcoder"],
        "CPlanes": ["Transcoder"],
        "CPostgres": ["JobQueue"], "CArchive": ["DiskCache"], "CCSV": ["larder"],
        "CMicroHTTPD": ["larder"], "CTOML": ["larder"], "CExpat": ["ObjectStore"],
        "CGLib": ["DiskCache", "larder"],
    ]

    /// Pairs that must not meet, whatever the order allows.
    static let apart: [(String, Set<String>)] = [
        ("Downloader", ["JobQueue", "Transcoder", "DiskCache", "CPostgres", "CVips"]),
        ("Prefetcher", ["JobQueue", "CPostgres"]),
        ("JobQueue", ["Downloader", "Transcoder", "DiskCache", "Prefetcher"]),
        ("Transcoder", ["Downloader", "DiskCache", "JobQueue"]),
        ("DiskCache", ["Downloader", "Transcoder", "JobQueue"]),
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
        let text = try manifest.sources(of: target).map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
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

    @Test func `the architecture page names every target`() throws {
        let page = try String(contentsOfFile: manifest.root + "/docs/architecture.md", encoding: .utf8)
        for target in Self.order { #expect(page.contains("`\(target)`"), "\(target)") }
    }
}
