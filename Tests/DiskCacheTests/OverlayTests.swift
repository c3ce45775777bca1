import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskCache

/// A cache in a container image.
@Suite(.timeLimit(.minutes(5)))
struct OverlayTests {
    private let key = CacheKey("http://example.com/image.png")

    @Test(.enabled(if: Privilege.mayMount, "needs to be root, and a kernel that mounts file systems"))
    func `reads the lower layer and changes only the upper one`() throws {
        let directory = try TemporaryDirectory()
        // The upper layer is a tmpfs, as an overlay cannot be the upper layer of another.
        #expect(mount("tmpfs", directory.path, "tmpfs", 0, "size=8m") == 0)
        defer { umount2(directory.path, Int32(MNT_DETACH)) }
        for name in ["upper", "work", "mounted"] { #expect(mkdir(directory.path + "/" + name, 0o755) == 0) }
        let image = try DirectoryStore(opening: directory.path + "/lower", durability: .none)
        try image.store("shipped", as: key)
        let place = directory.path + "/mounted"
        let layers = ["lowerdir=lower", "upperdir=upper", "workdir=work"].map {
            $0.replacing("=", with: "=\(directory.path)/")
        }
        try #require(mount("overlay", place, "overlay", 0, layers.joined(separator: ",")) == 0, "errno \(errno)")
        defer { umount2(place, Int32(MNT_DETACH)) }

        let cache = try DirectoryStore(opening: place, durability: .full)
        #expect(try cache.cacheID == image.cacheID)
        #expect(contents(try #require(try cache.open(key))) == Array("shipped".utf8))
        try cache.store("new", as: key, extendedData: [1])
        #expect(contents(try #require(try cache.open(key))) == Array("new".utf8))
        #expect(contents(try #require(try image.open(key))) == Array("shipped".utf8))
        #expect(try cache.remove(key))
        #expect(try cache.open(key) == nil)
        #expect(try image.contains(key))
    }
}
