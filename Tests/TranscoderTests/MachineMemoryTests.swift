import Foundation
import TestSupport
import Testing

@testable import Transcoder

/// The machine's memory, read from copies of the kernel's files.
struct MachineMemoryTests {
    private let root: TemporaryDirectory

    init() throws { root = try TemporaryDirectory() }

    private func write(_ text: String, to path: String) throws {
        let file = URL(filePath: root.file(path))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private func machine(_ kibibytes: Int) throws {
        try write("MemFree:  1 kB\nMemTotal:  \(kibibytes) kB\n", to: "proc/meminfo")
    }

    @Test func `without a group's limit it is the machine's memory`() throws {
        try machine(8 << 20)
        try write("0::/\n", to: "proc/self/cgroup")
        try write("max\n", to: "sys/fs/cgroup/memory.max")
        #expect(MachineMemory.bytes(root: root.path) == 8 << 30)
    }

    @Test func `a group's limit counts at its path and at the top, where a container sees it`() throws {
        try machine(8 << 20)
        try write("0::/pods/one\n", to: "proc/self/cgroup")
        try write("1073741824\n", to: "sys/fs/cgroup/pods/one/memory.max")
        #expect(MachineMemory.bytes(root: root.path) == 1 << 30)
        try write("536870912\n", to: "sys/fs/cgroup/memory.max")
        #expect(MachineMemory.bytes(root: root.path) == 512 << 20)
    }

    @Test func `a lower limit of a parent group counts`() throws {
        try machine(8 << 20)
        try write("0::/pods/one/inner\n", to: "proc/self/cgroup")
        try write("max\n", to: "sys/fs/cgroup/pods/one/inner/memory.max")
        try write("2147483648\n", to: "sys/fs/cgroup/pods/one/memory.max")
        try write("1073741824\n", to: "sys/fs/cgroup/pods/memory.max")
        #expect(MachineMemory.bytes(root: root.path) == 1 << 30)
    }

    @Test func `cgroup v1 is read, where a missing limit is a huge number`() throws {
        try machine(8 << 20)
        try write("5:cpu,cpuacct:/elsewhere\n4:memory:/docker/one\n", to: "proc/self/cgroup")
        try write("9223372036854771712\n", to: "sys/fs/cgroup/memory/memory.limit_in_bytes")
        #expect(MachineMemory.bytes(root: root.path) == 8 << 30)
        try write("1073741824\n", to: "sys/fs/cgroup/memory/docker/one/memory.limit_in_bytes")
        #expect(MachineMemory.bytes(root: root.path) == 1 << 30)
    }

    @Test func `this machine's memory is found, and the default without any limit is 4 GiB`() {
        #expect(MachineMemory.bytes(root: root.file("nowhere")) == 4 << 30)
        let here = MachineMemory.bytes()
        #expect(here > 64 << 20)
        #expect(UInt64(here) <= ProcessInfo.processInfo.physicalMemory)
    }
}
