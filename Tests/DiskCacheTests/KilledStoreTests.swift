import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// Processes killed by SIGKILL while they store.
@Suite(.timeLimit(.minutes(10)), .enabled(if: LarderCommand.executable.hasPrefix("/"), "needs the program itself"))
struct KilledStoreTests {
    @Test func `leave only whole images, and nothing else after the next opening`() async throws {
        let directory = try TemporaryDirectory()
        var dice = SplitMix64(seed: 1)
        let source = try DirectoryStore(opening: directory.path + "/source", durability: .none)
        let export = BundleExport(source)
        var entries: [ManifestEntry] = []
        for number in 0..<150 {
            let key = CacheKey("http://example.com/\(number).png")
            let size = Int.random(in: 0...60_000, using: &dice)
            try source.store((0..<size).map { _ in UInt8.random(in: 0...255, using: &dice) }, as: key)
            entries.append(try #require(try export.entry(for: key)))
        }
        let bundle = directory.path + "/bundle"
        try export.write(entries, toDirectory: bundle)
        let digests = Dictionary(entries.map { ($0.file, $0.sha256) }) { first, _ in first }

        let target = try CacheLayout(root: directory.path + "/target")
        let store = DirectoryStore(target)
        var stored = 0
        var halves = 0
        for _ in 0..<(Tier.isNightly ? 50 : 10) {
            let commands = try (0..<4).map { _ in
                try LarderCommand(
                    "cache", "import", bundle, "--cache", target.root, environment: ["LARDER_HOME": "/none"]
                )
                .start()
            }
            // Killed at a random number of stored files.
            let enough = Int.random(in: 0..<120, using: &dice)
            _ = await commands[0].reaches { _ in
                ((try? FileManager.default.contentsOfDirectory(atPath: target.directory).count) ?? 0) > enough
            }
            for command in commands { command.signal(SIGKILL) }
            for command in commands { _ = await command.outcome() }

            try store.list(hidden: true) { (entry) throws(StoreError) in
                if entry.isHidden {
                    halves += 1
                } else {
                    let digest = try store.peek(named: entry.path)?.sha256()
                    #expect(digest == digests[entry.path], "\(entry.path) is whole")
                    stored += 1
                }
                return true
            }
            _ = try DirectoryStore(opening: target.root)
            let usage = try CacheUsage(of: store)
            #expect(usage.files == usage.entries, "no temporary file is left")
            #expect(try OpenMarker.ofDeadProcesses(in: target.root).isEmpty)
            try store.clear()
        }
        #expect(stored > 0)
        #expect(halves > 0, "some were killed while writing")
    }
}
