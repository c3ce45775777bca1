import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct StoreCopyTests {
    private let directory: TemporaryDirectory
    private let source, destination: DirectoryStore
    private let copy: StoreCopy
    private let key = CacheKey("http://foo/a.png")

    init() throws {
        directory = try TemporaryDirectory()
        source = try DirectoryStore(opening: directory.path + "/source/root")
        destination = try DirectoryStore(opening: directory.path + "/target/root")
        copy = StoreCopy(from: source, to: destination)
    }

    @Test func `copies a file with its bytes, and skips it the next time`() throws {
        try source.store("an image", as: key, extendedData: [1, 2])
        #expect(try copy.copy(key.fileName, size: 8) == .copied)
        #expect(try copy.copy(key.fileName, size: 8) == .present)
        #expect(try destination.open(key).map(contents) == Array("an image".utf8))
        #expect(try copy.copy(CacheKey("none").fileName, size: 8) == .vanished)
        try destination.store("a newer image", as: key)
        #expect(try copy.copy(key.fileName, size: 8) == .kept)
        #expect(try StoreCopy(from: source, to: destination, replacing: true).copy(key.fileName, size: 8) == .copied)
    }

    @Test(arguments: [
        "../../x", "sub/x", "0cc175b9c0f1b6a831c399e269772661/../../../x", "README.txt", "..", ".", "",
        ".0cc175b9c0f1b6a831c399e269772661",
    ])
    func `copies nothing under a name that no cache key has`(name: String) throws {
        let images = source.layout.directory
        for place in ["/sub", "/0cc175b9c0f1b6a831c399e269772661"] {
            try FileManager.default.createDirectory(atPath: images + place, withIntermediateDirectories: false)
        }
        // A file where each name leads to.
        for path in [images + "/../../x", images + "/sub/x", images + "/README.txt"] {
            try Data("stray".utf8).write(to: URL(filePath: path))
        }
        #expect(try copy.copy(name, size: 5) == .stray)
        #expect(try directory.names(in: "target") == ["root"])
        #expect(try directory.names(in: "target/root") == [".larder-cache-id", "default"])
        #expect(try directory.names(in: "target/root/default").isEmpty)
    }

    @Test func `the naming of the destination decides which names are copied`() throws {
        let naming = NukeNaming()
        let nuke = try DirectoryStore(opening: directory.path + "/nuke", naming: naming)
        let other = try DirectoryStore(opening: directory.path + "/other", naming: naming)
        try nuke.store("an image", as: key)
        let copy = StoreCopy(from: nuke, to: other)
        #expect(try copy.copy(naming.fileName(of: key), size: 8) == .copied)
        #expect(try copy.copy(key.fileName, size: 8) == .stray)
    }
}
