import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct TemporaryFileCleanupTests {
    private let directory: TemporaryDirectory
    private let cache: DirectoryStore

    init() throws {
        directory = try TemporaryDirectory()
        cache = try DirectoryStore(opening: directory.path)
    }

    @Test func `deletes the file of a killed process but not of a running one`() throws {
        let child = try Writer(in: cache.layout)
        #expect(try left() == [child.name])
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left() == [child.name], "its process is running")

        child.kill()
        #expect(try left() == [child.name], "a crash deletes nothing and commits nothing")
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().isEmpty)
    }

    @Test func `deletes the file of a zombie`() throws {
        let child = try Writer(in: cache.layout)
        #expect(Glibc.kill(child.process, SIGKILL) == 0)
        var info = siginfo_t()
        #expect(waitid(P_PID, UInt32(child.process), &info, WEXITED | WNOWAIT) == 0, "now a zombie")
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().isEmpty)
        child.kill()
    }

    @Test func `keeps the files of this process`() throws {
        let file = try cache.begin()
        _ = try DirectoryStore(opening: directory.path)
        try write("image", to: file)
        try cache.commit(file, as: CacheKey("a"))
        #expect(try left() == [CacheKey("a").fileName])
    }

    @Test func `recognises a reused process id`() throws {
        let this = TemporaryName.Writer.this
        let name = ".larder.\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        try Data().write(to: URL(filePath: cache.layout.directory + "/" + name))
        try forgetLastSearch()
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().isEmpty)
    }

    @Test(arguments: ["other-boot", nil] as [String?])
    func `keeps files of other hosts and containers until they are a day old`(boot: String?) throws {
        let this = TemporaryName.Writer.this
        let place = boot.map { "\($0).\(this.namespace)" } ?? "\(this.boot).123"
        let path = cache.layout.directory + "/.larder.\(place).999999999.1.ff"
        try Data().write(to: URL(filePath: path))
        try setAge(of: path, hours: 23)
        try forgetLastSearch()
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().count == 1)
        try setAge(of: path, hours: 25)
        try forgetLastSearch()
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().isEmpty)
    }

    @Test(arguments: [
        ".hidden", ".larder", ".larder.a.b.c.d.e", ".larder.x.1.2.3.4.5", "larder.x.1.999999999.1.ff",
        ".larder.x.1.-1.1.ff", ".larder.x.1.0.1.ff",
        "0cc175b9c0f1b6a831c399e269772661.png",
    ])
    func `keeps files with other names`(name: String) throws {
        let path = cache.layout.directory + "/" + name
        try Data().write(to: URL(filePath: path))
        try setAge(of: path, hours: 1000)
        try forgetLastSearch()
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left() == [name])
    }

    @Test func `parses its own names`() throws {
        let name = TemporaryName.ofThisProcess()
        #expect(TemporaryName(name.text) == name)
        #expect(name.text.utf8.count < 200)
        #expect(!name.isAbandoned(age: .max))
        #expect(!name.writer.boot.isEmpty)
        #expect(!name.writer.namespace.isEmpty)
        #expect(name.writer.startTime > 0)
    }

    @Test func `reads a directory only after the death of a process or once a day`() throws {
        let this = TemporaryName.Writer.this
        let dead = "\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        let file = cache.layout.directory + "/.larder." + dead
        try Data().write(to: URL(filePath: file))
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().count == 1, "no process died, and the directory was read recently")

        try setAge(of: directory.path + "/.larder-swept.default", hours: 25)
        _ = try DirectoryStore(opening: directory.path)
        #expect(try left().isEmpty)

        try Data().write(to: URL(filePath: file))
        let marker = directory.path + "/.larder-open." + dead
        try Data().write(to: URL(filePath: marker))
        // Also of another namespace, as a marker does not name its namespace.
        _ = try DirectoryStore(opening: directory.path, namespace: "other")
        #expect(try left().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: marker))
    }

    @Test func `finds out whether a process has the store open`() throws {
        let root = directory.path + "/another"
        #expect(try !OpenMarker.existsForRunningProcess(in: root))
        do {
            let first = try DirectoryStore(opening: root)
            let copy = first
            _ = try DirectoryStore(opening: root)
            #expect(try OpenMarker.existsForRunningProcess(in: root))
            withExtendedLifetime((first, copy)) {}
        }
        #expect(try !OpenMarker.existsForRunningProcess(in: root))
        #expect(try OpenMarker.ofDeadProcesses(in: root).isEmpty)
        let child = try Writer(in: CacheLayout(root: directory.path))
        child.kill()
        #expect(try OpenMarker.ofDeadProcesses(in: directory.path).count == 1)
    }

    @Test func `recreates an open marker that another host has deleted`() throws {
        let root = directory.path + "/another"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        let marker = try OpenMarker(in: root)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: root).first)
        try FileManager.default.removeItem(atPath: root + "/" + name)
        marker.refresh(at: OpenMarker.uptime + 60)
        #expect(try !OpenMarker.existsForRunningProcess(in: root), "refreshed at most once an hour")
        marker.refresh(at: OpenMarker.uptime + 3700)
        #expect(try OpenMarker.existsForRunningProcess(in: root))
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [name])
    }

    /// Makes the next opening search the directory.
    private func forgetLastSearch() throws {
        try FileManager.default.removeItem(atPath: directory.path + "/.larder-swept.default")
    }

    private func left() throws -> [String] { try directory.names(in: "default") }

    private func setAge(of path: String, hours: Int) throws {
        let then = timespec(tv_sec: time(nil) - hours * 3600, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, path, [then, then], 0) == 0)
    }
}

/// A child process with a temporary file.
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
        // Names its files as Larder does, writes one, prints its name and waits to be killed.
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
