private import Foundation

/// The memory that this machine, or the control group this process is in, has.
package enum MachineMemory {
    /// In bytes: the least that the machine and any of the groups above this process allow; 4 GiB where nothing tells.
    ///
    /// - Parameter root: the directory that stands for `/`.
    package static func bytes(root: String = "") -> Int {
        let machine = number("\(root)/proc/meminfo", after: "MemTotal:").map { $0 * 1024 }
        // A container may see its own group alone, at the top, while its path is told from outside.
        var files = ["\(root)/sys/fs/cgroup/memory.max", "\(root)/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        for line in text("\(root)/proc/self/cgroup").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[1].isEmpty || parts[1].split(separator: ",").contains("memory") else {
                continue
            }
            let (directory, file) = parts[1].isEmpty ? ("", "memory.max") : ("/memory", "memory.limit_in_bytes")
            // A limit on a group holds for those below it.
            var path = parts[2].split(separator: "/")[...]
            while !path.isEmpty {
                files.append("\(root)/sys/fs/cgroup\(directory)/\(path.joined(separator: "/"))/\(file)")
                path.removeLast()
            }
        }
        // A group without a limit says "max".
        return (files.compactMap { number($0, after: "") } + [machine].compactMap(\.self)).min() ?? 4 << 30
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// The number after `name` in a file of the kernel.
    private static func number(_ path: String, after name: String) -> Int? {
        let line = text(path).split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
    }
}
