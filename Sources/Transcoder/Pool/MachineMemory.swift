private import FoundationEssentials

/// The memory of this machine, or of the control group that this process runs in.
package enum MachineMemory {
    /// In bytes: the lowest limit of the machine and of the groups above this process; 4 GiB when none is known.
    ///
    /// - Parameter root: the directory that stands for `/`.
    package static func bytes(root: String = "") -> Int {
        let machine = number("\(root)/proc/meminfo", after: "MemTotal:").map { $0 * 1024 }
        // A container may see its own group at the top, while its path is that outside.
        var files = ["\(root)/sys/fs/cgroup/memory.max", "\(root)/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        for line in text("\(root)/proc/self/cgroup").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[1].isEmpty || parts[1].split(separator: ",").contains("memory") else {
                continue
            }
            let (directory, file) = parts[1].isEmpty ? ("", "memory.max") : ("/memory", "memory.limit_in_bytes")
            // A group's limit holds for the groups below it.
            var path = parts[2].split(separator: "/")[...]
            while !path.isEmpty {
                files.append("\(root)/sys/fs/cgroup\(directory)/\(path.joined(separator: "/"))/\(file)")
                path.removeLast()
            }
        }
        // A group without a limit has "max", which is not a number.
        return (files.compactMap { number($0, after: "") } + [machine].compactMap(\.self)).min() ?? 4 << 30
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// The number after `name` in one of the kernel's files.
    private static func number(_ path: String, after name: String) -> Int? {
        let line = text(path).split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
    }
}
