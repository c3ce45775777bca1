import Foundation
import Glibc
import TestSupport
import Testing

/// A worker that cannot store anything for some time.
@Suite(.timeLimit(.minutes(5)))
struct FullCacheTests {
    @Test(.enabled(if: Privilege.mayMount, "needs to be root, and a kernel that mounts a tmpfs"))
    func `a worker returns a job that a full disk failed, unharmed, and runs it when there is space`() async throws {
        let scene = try await Scene()
        try FileManager.default.createDirectory(atPath: scene.cache, withIntermediateDirectories: true)
        try #require(mount("tmpfs", scene.cache, "tmpfs", 0, "size=1m,mode=755") == 0)
        defer { umount2(scene.cache, Int32(MNT_DETACH)) }
        let work = try scene.larder(["work"]).start()
        #expect(await work.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.worker)") })

        let ballast = scene.cache + "/ballast"
        let descriptor = open(ballast, O_CREAT | O_WRONLY, 0o600)
        let page = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, page, page.count) == page.count {}
        close(descriptor)

        try await expectRefusal(scene, work)
        #expect(scene.stored.isEmpty)
        // Each further attempt has a temporary file.
        #expect(await work.reaches { _ in scene.temporary.isEmpty })

        unlink(ballast)
        #expect(await work.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.progress WHERE succeeded = 1)") })
        #expect(scene.stored.count == 1)
        try await expectGoodEnd(scene, work)
    }

    @Test(.enabled(if: ImageDisk.isPossible(.btrfs), "needs to be root, loop devices, and btrfs"))
    func `a worker returns a job that its quota failed, unharmed, and runs it when the quota is raised`() async throws {
        let scene = try await Scene()
        let disk = try await ImageDisk(.btrfs)
        let place = try await disk.makeQuota("cache", limit: 4 << 20)
        let work = try scene.larder(["work", "--cache", place]).start()
        #expect(await work.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.worker)") })
        // Below the space in use.
        try await disk.setQuota(of: place, limit: 16 << 10)

        try await expectRefusal(scene, work)
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: place + "/default") }
        #expect(try names().allSatisfy { $0.hasPrefix(".") })

        try await disk.setQuota(of: place, limit: nil)
        #expect(await work.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.progress WHERE succeeded = 1)") })
        #expect(try names().filter { !$0.hasPrefix(".") }.count == 1)
        try await expectGoodEnd(scene, work)
    }

    @Test
    func `a worker whose cache directory was replaced by a file charges no attempt, is not ready, and recovers`()
        async throws
    {
        let scene = try await Scene()
        let work = try scene.larder(["work", "--listen", "127.0.0.1:0"]).start()
        let port = try await ListeningWorker.port(of: work)
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 200 })
        let aside = scene.cache + ".aside"
        #expect(rename(scene.cache, aside) == 0)
        try Data("not a directory".utf8).write(to: URL(filePath: scene.cache))

        try await expectRefusal(scene, work)
        #expect(
            try await reached {
                let page = try await ListeningWorker.get(port, "/readyz")
                return page.status == 503 && page.text.contains("\"local fault: cannot ")
            })
        #expect(try await ListeningWorker.get(port, "/livez").status == 200)

        #expect(unlink(scene.cache) == 0)
        #expect(rename(aside, scene.cache) == 0)
        #expect(await work.reaches { _ in scene.holds("EXISTS (SELECT FROM larder.progress WHERE succeeded = 1)") })
        #expect(scene.stored.count == 1)
        #expect(try await reached { try await ListeningWorker.get(port, "/readyz").status == 200 })
        try await expectGoodEnd(scene, work)
    }

    /// A job is returned because nothing can be stored. It may be attempted once only.
    private func expectRefusal(_ scene: Scene, _ work: RunningCommand) async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let enqueued = try await scene.larder("enqueue", "--batch", "b", "--retries", "0", url)
        #expect(enqueued.code == 0, "\(enqueued.errorText)")
        #expect(
            await work.reaches { _ in String(decoding: work.errorsSoFar, as: UTF8.self).contains("event=local_fault ")
            },
            "\(String(decoding: work.errorsSoFar, as: UTF8.self))")
        #expect(
            scene.holds("EXISTS (SELECT FROM larder_data.job) AND NOT EXISTS (SELECT FROM larder_data.job_attempt)"))
    }

    private func expectGoodEnd(_ scene: Scene, _ work: RunningCommand) async throws {
        #expect(
            await work.reaches { _ in
                String(decoding: work.errorsSoFar, as: UTF8.self).contains("event=local_fault_over")
            })
        #expect(scene.holds("(SELECT max(attempts) FROM larder.record) = 1"))
        work.signal(SIGTERM)
        #expect(await work.outcome().code == 0)
        #expect(try await scene.faults().isEmpty)
    }
}
