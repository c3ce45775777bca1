import Foundation
import Glibc
import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct FullDiskTests {
    /// A file system of one megabyte, unmounted with its last reference.
    private final class SmallDisk {
        static let isPossible = getuid() == 0 && (try? SmallDisk()) != nil

        private let directory: TemporaryDirectory
        var path: String { directory.path }

        init() throws {
            directory = try TemporaryDirectory()
            guard mount("tmpfs", directory.path, "tmpfs", 0, "size=1m") == 0 else { throw POSIXError(.EPERM) }
        }

        deinit { umount2(directory.path, Int32(MNT_DETACH)) }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs to be root, and a kernel that mounts a tmpfs"))
    func `in the middle of a body fails that download only and names the file`() async throws {
        let disk = try SmallDisk()
        let server = try OriginServer(["/large": .body(noise(3 << 20)), "/small": .body(noise(1000))])
        let downloader = ImageDownloader(for: server)
        let path = disk.path + "/body"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer { close(file) }
        var request = FetchRequest(server.url("/large"))
        let (stream, received) = AsyncStream<Int64>.makeStream()
        request.progressInterval = .zero
        request.progress = { received.yield($0.received) }
        let error = await #expect(throws: FetchError.self) { try await downloader.fetch(request, into: file) }
        received.finish()
        #expect(error?.row == "LarderErrorDomain 501")
        #expect(error?.message.contains("written to \(path): No space left on device (errno \(ENOSPC))") == true)
        // The download began; the caller removes the part that was written with the file.
        #expect(await stream.reduce(0, max) > 0)
        #expect(lseek(file, 0, SEEK_END) < 1 << 20 | 1)
        unlink(path)
        #expect(await downloader.failure(server.url("/small")) == nil)
    }
}
