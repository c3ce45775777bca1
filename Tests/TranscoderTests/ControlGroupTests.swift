import Foundation
import TestSupport
import Testing

@testable import Transcoder

/// The limits of a control group, read from copies of the kernel's files.
struct ControlGroupTests {
    private let root: TemporaryDirectory

    init() throws { root = try TemporaryDirectory() }

    private func write(_ files: [String: String]) throws {
        for (path, text) in files {
            let file = URL(filePath: root.file(path))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    private var group: ControlGroup { ControlGroup(root: root.path) }

    @Test func `without files, and with files without limits, there is none`() throws {
        #expect(group == ControlGroup())
        try write([
            "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n",
            "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/pids.max": "max\n",
        ])
        #expect(group == ControlGroup())
    }

    @Test func `a container sees the limits of version 2 at the top`() throws {
        try write([
            "proc/self/cgroup": "0::/kubepods/pod1/container\n", "sys/fs/cgroup/cpu.max": "50000 100000\n",
            "sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/pids.max": "200\n",
        ])
        #expect(group == ControlGroup(processors: 0.5, memoryBytes: 512 << 20, tasks: 200))
    }

    @Test func `the lowest limit of the groups above a process counts`() throws {
        try write([
            "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/b/pids.max": "90\n",
            "sys/fs/cgroup/a/pids.max": "max\n",
        ])
        #expect(group == ControlGroup(processors: 1.5, tasks: 90))
    }

    @Test func `version 1 is read, in which no limit is -1 or a huge number`() throws {
        try write([
            "proc/self/cgroup": "5:cpu,cpuacct:/one\n4:memory:/one\n3:pids:/one\n0::/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        ])
        #expect(group == ControlGroup())
        try write([
            "sys/fs/cgroup/cpu/one/cpu.cfs_quota_us": "25000\n", "sys/fs/cgroup/cpu/one/cpu.cfs_period_us": "50000\n",
            "sys/fs/cgroup/memory/one/memory.limit_in_bytes": "1073741824\n", "sys/fs/cgroup/pids/one/pids.max": "77\n",
        ])
        #expect(group == ControlGroup(processors: 0.5, memoryBytes: 1 << 30, tasks: 77))
    }

    @Test func `files with other contents are no limits`() throws {
        try write([
            "proc/self/cgroup": "nonsense\n0::/\n::\n", "sys/fs/cgroup/cpu.max": "0 0\n",
            "sys/fs/cgroup/memory.max": "\n", "sys/fs/cgroup/pids.max": "many\n",
        ])
        #expect(group == ControlGroup())
    }
}
