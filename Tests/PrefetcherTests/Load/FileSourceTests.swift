import Concurrency
import DiskCache
import Downloader
import Foundation
import Glibc
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

@Suite(.timeLimit(.minutes(2)))
struct FileSourceTests {
    private let harness: ManagerHarness
    private let root: String
    private let source: FileSource
    private let manager: ImageManager

    init() throws {
        harness = try ManagerHarness()
        root = harness.directory.path + "/files"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try Data(harness.image).write(to: URL(filePath: root + "/a b.jpg"))
        var limits = FetchLimits()
        limits.body = 1 << 20
        let files = try FileSource(directories: [root], limits: limits)
        source = files
        manager = try harness.manager { $0.sources.append(files) }
    }

    private func kind(_ url: String) async -> String? {
        await failure(of: LoadRequest(url: url), by: manager).map { "\($0.domain) \($0.code)" }
    }

    @Test func `a file below the directory is stored under its URL's key`() async throws {
        let url = "file://\(root)/a%20b.jpg"
        let report = try await manager.load(LoadRequest(url: url))
        #expect(report.downloads == 1)
        #expect(harness.stored(url) == harness.image)
        #expect(report.stored.first?.sha256?.count == 64)
        for other in ["FILE://\(root)/a%20b.jpg", "file://localhost\(root)//./a b.jpg"] {
            _ = try await manager.load(LoadRequest(url: other))
            #expect(harness.stored(other) == harness.image)
        }
    }

    @Test func `a file outside the directory is refused, and the message names the option`() async throws {
        for url in ["file:///etc/passwd", "file://\(root)/../../../../../etc/passwd", "file://\(root)x/a%20b.jpg"] {
            #expect(await kind(url) == "LarderErrorDomain 101", "\(url)")
        }
        let outside = await failure(of: LoadRequest(url: "file:///etc/pass%77d"), by: manager)
        #expect(outside?.needs == [.path("/etc")])
        #expect(outside?.message.contains("--allow-path DIR accepts it") == true)
        #expect(await kind("file://\(root)/%2e%2e/%2e%2e/%2e%2e/etc/passwd") == "LarderErrorDomain 101")
        #expect(await kind("file://\(root)/a%2F..%2F..%2Fcache") == "NSURLErrorDomain -1100")
        let closed = try FileSource(directories: [])
        await #expect(throws: FetchError.self) {
            try await closed.fetch(FetchRequest("file://\(root)/a%20b.jpg"), into: -1)
        }
    }

    @Test func `no symbolic link is followed, wherever it leads`() async throws {
        let links = [("up", "/etc"), ("in", root), ("name", "a b.jpg"), ("magic", "/proc/self/root"), ("self", "self")]
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
        }
        for path in ["up/passwd", "in/a%20b.jpg", "name", "magic/etc/passwd", "self"] {
            #expect(await kind("file://\(root)/\(path)") == "LarderErrorDomain 101", "\(path)")
        }
    }

    @Test func `a path is allowed by the directory's own spelling and by its real one`() async throws {
        let link = harness.directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: root)
        let linked = try harness.manager { [link] in
            if let files = try? FileSource(directories: [link + "/."]) { $0.sources.append(files) }
        }
        for url in ["file://\(link)/a%20b.jpg", "file://\(root)/a%20b.jpg"] {
            _ = try await linked.load(LoadRequest(url: url))
            #expect(harness.stored(url) == harness.image)
        }
    }

    @Test(arguments: [
        "file://elsewhere/a.jpg", "file:/a.jpg", "file:a.jpg", "file:", "file://", "file:///a?b", "file:///a#b",
        "file:///a%", "file:///a%2", "file:///a%zz", "file:///a%00.jpg", "file:///a\nb",
    ])
    func `a malformed URL is an invalid one`(url: String) async {
        #expect(await kind(url) == "SDWebImageErrorDomain 1000")
    }

    @Test func `a missing file, a directory, a file that is not an image and a large file have their own errors`()
        async throws
    {
        try Data("text".utf8).write(to: URL(filePath: root + "/t.txt"))
        try Data().write(to: URL(filePath: root + "/empty"))
        try Data(count: 2 << 20).write(to: URL(filePath: root + "/big"))
        try FileManager.default.createDirectory(atPath: root + "/sub", withIntermediateDirectories: true)
        #expect(await kind("file://\(root)/no.jpg") == "NSURLErrorDomain -1100")
        #expect(await kind("file://\(root)/a%20b.jpg/c.jpg") == "NSURLErrorDomain -1100")
        #expect(await kind("file://\(root)/sub") == "NSURLErrorDomain -1101")
        #expect(await kind("file://\(root)") == "NSURLErrorDomain -1101")
        #expect(await kind("file://\(root)/t.txt") == "SDWebImageErrorDomain 1001")
        #expect(await kind("file://\(root)/empty") == "SDWebImageErrorDomain 1001")
        let large = await failure(of: LoadRequest(url: "file://\(root)/big"), by: manager)
        #expect(large?.failureCode == .bodyTooLarge)
        #expect(large?.needs == [.body(2 << 20)])
    }

    @Test func `a file that changes while it is read fails for now`() async throws {
        let path = root + "/a b.jpg", image = harness.image
        var request = FetchRequest("file://\(root)/a%20b.jpg")
        request.inspects = { _ in
            _ = truncate(path, off_t(image.count + 1))
            return .accepted
        }
        let target = try #require(tmpfile())
        defer { fclose(target) }
        do throws(FetchError) {
            _ = try await source.fetch(request, into: fileno(target))
            Issue.record("it was read")
        } catch {
            #expect(error.code == .connectionLost)
        }
    }

    @Test func `a directory that takes the path of an allowed one is read in its place`() async throws {
        let base = harness.directory.path
        try FileManager.default.createDirectory(atPath: base + "/next", withIntermediateDirectories: true)
        try Data(harness.image).write(to: URL(filePath: base + "/next/new.jpg"))
        #expect(rename(root, base + "/old") == 0)
        #expect(await kind("file://\(root)/none.jpg") == "NSURLErrorDomain -1100")
        #expect(rename(base + "/next", root) == 0)
        #expect(await kind("file://\(root)/new.jpg") == nil)
    }

    @Test func `a pipe, a socket and a device are not read`() async throws {
        #expect(mkfifo(root + "/pipe", 0o600) == 0)
        #expect(await kind("file://\(root)/pipe") == "NSURLErrorDomain -1101")
        let devices = try FileSource(directories: ["/dev"])
        for name in ["zero", "null", "tty"] {
            do throws(FetchError) {
                _ = try await devices.fetch(FetchRequest("file:///dev/\(name)"), into: -1)
                Issue.record("\(name) was read")
            } catch {
                #expect(error.code == .fileNotRegular, "\(name)")
            }
        }
    }

    @Test func `a directory that is swapped for a link or moved away opens nothing outside`() async throws {
        let base = harness.directory.path
        let secret = Array("the secret".utf8)
        for directory in ["/files/d", "/out", "/out/e"] {
            try FileManager.default.createDirectory(atPath: base + directory, withIntermediateDirectories: true)
        }
        for (path, bytes) in [("/files/d/x", harness.image), ("/files/x", harness.image), ("/out/x", secret)] {
            try Data(bytes).write(to: URL(filePath: base + path))
        }
        try FileManager.default.createSymbolicLink(atPath: base + "/files/l", withDestinationPath: base + "/out")
        let stop = Flag()
        let swapper = Thread {
            while !stop.isSet {
                // The name is a directory, nothing, or a link out; the directory itself is in the tree or out of it.
                rename(base + "/files/d", base + "/out/d")
                rename(base + "/files/l", base + "/files/d")
                rename(base + "/files/d", base + "/files/l")
                rename(base + "/out/d", base + "/files/d")
            }
        }
        swapper.start()
        defer { stop.set() }
        var copied = 0
        for round in 0..<4_000 {
            let target = try #require(tmpfile())
            defer { fclose(target) }
            let url = "file://\(root)/d/\(round % 2 == 0 ? "x" : "../x")"
            let response = try? await source.fetch(FetchRequest(url), into: fileno(target))
            guard let response else { continue }
            copied += 1
            #expect(response.bytes == harness.image.count)
        }
        #expect(copied > 0)
    }

    @Test func `a URL has the escapes that Foundation makes, and leads back to its path`() throws {
        let ascii = (0x20...0x7e).map { UInt8($0) }.filter { $0 != UInt8(ascii: "/") }
        let path = "/a/" + String(decoding: ascii, as: UTF8.self) + "é\n日本.jpg"
        #expect(FileURL.text(path.utf8) == URL(filePath: path).absoluteString)
        #expect(try FileURL.path(FileURL.text(path.utf8)) == Array(path.utf8))
        let bytes = Array("/".utf8) + (1...255).map { UInt8($0) }
        #expect(try FileURL.path(FileURL.text(bytes)) == bytes)
    }
}

/// A flag that two threads share.
private final class Flag: Sendable {
    private let value = Locked(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}
