import DiskCache
import Foundation
import ImageModel
import Testing

/// Keys and file names of Kingfisher and Nuke, against vectors written from their sources and tests.
@Suite(.timeLimit(.minutes(5)))
struct NamingTests {
    struct Vectors: Decodable {
        struct Key: Decodable, Sendable, CustomTestStringConvertible {
            let key, expected, file, source: String
            /// JSON; nil for the original.
            let variant: String?
            var testDescription: String { variant ?? key }
        }

        struct Refusal: Decodable, Sendable, CustomTestStringConvertible {
            let variant, path: String
            var testDescription: String { variant }
        }

        let keys: [Key]
        let refused: [Refusal]

        static func read(_ naming: String) throws -> Vectors {
            let file = KeyVectors.vectors.appending(path: "\(naming)_vectors.json")
            return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        }
    }

    @Test(arguments: try Vectors.read("kingfisher").keys)
    func `Kingfisher's key and file name are its own`(_ vector: Vectors.Key) throws { try check(vector, "kingfisher") }

    @Test(arguments: try Vectors.read("nuke").keys)
    func `Nuke's key and file name are its own`(_ vector: Vectors.Key) throws { try check(vector, "nuke") }

    @Test(arguments: try Vectors.read("kingfisher").refused)
    func `a variant that Kingfisher cannot make is refused`(_ vector: Vectors.Refusal) throws {
        try check(vector, "kingfisher")
    }

    @Test(arguments: try Vectors.read("nuke").refused)
    func `a variant that Nuke cannot make is refused`(_ vector: Vectors.Refusal) throws { try check(vector, "nuke") }

    private func check(_ vector: Vectors.Key, _ name: String) throws {
        let naming = try #require(CacheNamings.named(name))
        let original = CacheKey(vector.key)
        let key = try vector.variant.map { try naming.key(of: Variant(json: $0.utf8), from: original) } ?? original
        #expect(key?.text == vector.expected, "\(vector.source)")
        #expect(key.map(naming.fileNames) == [vector.file])
        #expect(naming.isFileName(vector.file))
        #expect(naming.scaleFactor(of: original) == 1)
    }

    private func check(_ vector: Vectors.Refusal, _ name: String) throws {
        let naming = try #require(CacheNamings.named(name))
        let variant = try Variant(json: vector.variant.utf8)
        #expect {
            _ = try naming.suffixes(of: variant)
        } throws: {
            ($0 as? VariantError)?.path == vector.path
        }
    }

    @Test func `each naming has a name, a directory and file names of its own`() {
        #expect(CacheNamings.all.map(\.name) == ["sdwebimage", "kingfisher", "nuke"])
        #expect(CacheNamings.named("none") == nil)
        #expect(
            CacheNamings.all.map { $0.directory(of: "default") }
                == ["default", "com.onevcat.Kingfisher.ImageCache.default", "com.github.kean.Nuke.DataCache"])
        #expect(CacheNamings.all.map { $0.directory(of: "own") }.last == "own")
        let names = CacheNamings.all.map { $0.fileName(of: CacheKey("https://example.com/a")) }
        for (index, naming) in CacheNamings.all.enumerated() {
            #expect(names.indices.filter { naming.isFileName(names[$0]) } == [index])
        }
        #expect(CacheNamings.all.allSatisfy { !$0.isFileName(String(repeating: "G", count: 64)) })
    }
}
