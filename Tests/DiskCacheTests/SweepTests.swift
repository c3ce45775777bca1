import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct `Sweeping temporary files` {
    private let directory: TemporaryDirectory
    private let cache: DiskCache

    init() throws {
        directory = try TemporaryDirectory()
        cache = try DiskCache(opening: directory.path)
    }

    @Test func `removes what a killed process left and leaves what it was still writing`() throws {
        let child = try Writer(in: cache.layout)
        #expect(try left() == [child.name])
        _ = try DiskCache(opening: directory.path)
        #expect(try left() == [child.name], "it is alive")

        child.kill()
        #expect(try left() == [child.name], "a crash cleans nothing up, and gives nothing a real name")
        _ = try DiskCache(opening: directory.path)
        #expect(try left().isEmpty)
    }

    @Test func `removes what a dead process left that nobody has asked for`() throws {
        let child = try Writer(in: cache.layout)
        #expect(Glibc.kill(child.process, SIGKILL) == 0)
        var info = siginfo_t()
        #expect(waitid(P_PID, UInt32(child.process), &info, WEXITED | WNOWAIT) == 0, "now a zombie")
        _ = try DiskCache(opening: directory.path)
        #expect(try left().isEmpty)
        child.kill()
    }

    @Test func `leaves this process's own files`() throws {
        let file = try cache.makeTemporaryFile()
        _ = try DiskCache(opening: directory.path)
        try write("picture", to: file)
        try cache.publish(file, as: CacheKey("a"))
        #expect(try left() == [CacheKey("a").fileName])
    }

    @Test func `is not deceived by a process number used again`() throws {
        let this = TemporaryName.Writer.this
        let name = ".larder.\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        try Data().write(to: URL(filePath: cache.layout.directory + "/" + name))
        try forgetLastSearch()
        _ = try DiskCache(opening: directory.path)
        #expect(try left().isEmpty)
    }

    @Test(arguments: ["other-boot", nil] as [String?])
    func `leaves another host's or container's files until they are a day old`(boot: String?) throws {
        let this = TemporaryName.Writer.this
        let place = boot.map { "\($0).\(this.namespace)" } ?? "\(this.boot).123"
        let path = cache.layout.directory + "/.larder.\(place).999999999.1.ff"
        try Data().write(to: URL(filePath: path))
        try setAge(of: path, hours: 23)
        try forgetLastSearch()
        _ = try DiskCache(opening: directory.path)
        #expect(try left().count == 1)
        try setAge(of: path, hours: 25)
        try forgetLastSearch()
        _ = try DiskCache(opening: directory.path)
        #expect(try left().isEmpty)
    }

    @Test(arguments: [
        ".hidden", ".larder", ".larder.a.b.c.d.e", ".larder.x.1.2.3.4.5", "larder.x.1.999999999.1.ff",
        ".larder.x.1.-1.1.ff", ".larder.x.1.0.1.ff",
        "0cc175b9c0f1b6a831c399e269772661.png",
    ])
    func `touches nothing that is not its own`(name: String) throws {
        let path = cache.layout.directory + "/" + name
        try Data().write(to: URL(filePath: path))
        try setAge(of: path, hours: 1000)
        try forgetLastSearch()
        _ = try DiskCache(opening: directory.path)
        #expect(try left() == [name])
    }

    @Test func `reads its own names back`() throws {
        let name = TemporaryName.ofThisProcess()
        #expect(TemporaryName(name.text) == name)
        #expect(name.text.utf8.count < 200)
        #expect(!name.isAbandoned(age: .max))
        #expect(!name.writer.boot.isEmpty && !name.writer.namespace.isEmpty && name.writer.startTime > 0)
    }

    @Test func `searches a directory only when a process died, or once a day`() throws {
        let this = TemporaryName.Writer.this
        let dead = "\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        let file = cache.layout.directory + "/.larder." + dead
        try Data().write(to: URL(filePath: file))
        _ = try DiskCache(opening: directory.path)
        #expect(try left().count == 1, "nobody died, and it was searched a moment ago")

        try setAge(of: directory.path + "/.larder-swept.default", hours: 25)
        _ = try DiskCache(opening: directory.path)
        #expect(try left().isEmpty)

        try Data().write(to: URL(filePath: file))
        let presence = directory.path + "/.larder-open." + dead
        try Data().write(to: URL(filePath: presence))
        // Also of another namespace: it says nothing of which one was open.
        _ = try DiskCache(opening: directory.path, namespace: "other")
        #expect(try left().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: presence))
    }

    @Test func `knows whether somebody has the cache open`() throws {
        let root = directory.path + "/another"
        #expect(try !OpenMarker.anyLives(in: root))
        do {
            let first = try DiskCache(opening: root)
            let copy = first
            _ = try DiskCache(opening: root)
            #expect(try OpenMarker.anyLives(in: root))
            withExtendedLifetime((first, copy)) {}
        }
        #expect(try !OpenMarker.anyLives(in: root))
        #expect(try OpenMarker.ofDead(in: root).isEmpty)
        let child = try Writer(in: CacheLayout(root: directory.path))
        child.kill()
        #expect(try OpenMarker.ofDead(in: directory.path).count == 1)
    }

    @Test func `says again that it is there when another host took it for dead`() throws {
        let root = directory.path + "/another"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        let presence = try OpenMarker(in: root)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: root).first)
        try FileManager.default.removeItem(atPath: root + "/" + name)
        presence.refresh(at: OpenMarker.uptime + 60)
        #expect(try !OpenMarker.anyLives(in: root), "once an hour is enough")
        presence.refresh(at: OpenMarker.uptime + 3700)
        #expect(try OpenMarker.anyLives(in: root))
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [name])
    }

    /// As if a day had passed since the directory was searched.
    private func forgetLastSearch() throws {
        try FileManager.default.removeItem(atPath: directory.path + "/.larder-swept.default")
    }

    private func left() throws -> [String] { try directory.names(in: "default") }

    private func setAge(of path: String, hours: Int) throws {
        let then = timespec(tv_sec: time(nil) - hours * 3600, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, path, [then, then], 0) == 0)
    }
}

/// A child process with a half-written temporary file of its own.
private final class Writer {
    let process: pid_t
    let name: String
    private var reaped = false

    init(in layout: CacheLayout) throws {
        let ends = Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends.fileHandleForWriting.fileDescriptor, 1)
        // It learns its number and start time as Larder does, writes half a picture, says so and waits to be killed.
        let this = TemporaryName.Writer.this
        let script = """
            read -r line < /proc/$$/stat; set -- ${line##*) }; start=${20}
            : > "\(layout.root)/.larder-open.\(this.boot).\(this.namespace).$$.$start.cd"
            printf half > "\(layout.directory)/.larder.\(this.boot).\(this.namespace).$$.$start.ab"
            echo ".larder.\(this.boot).\(this.namespace).$$.$start.ab"; exec sleep 1000
            """
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(script), nil]
        defer { arguments.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/bin/sh", &actions, nil, arguments, nil)
        try #require(failure == 0)
        self.process = process
        try ends.fileHandleForWriting.close()
        let line = String(decoding: ends.fileHandleForReading.availableData, as: UTF8.self)
        name = String(line.dropLast())
    }

    func kill() {
        guard !reaped else { return }
        Glibc.kill(process, SIGKILL)
        waitpid(process, nil, 0)
        reaped = true
    }

    deinit { kill() }
}
