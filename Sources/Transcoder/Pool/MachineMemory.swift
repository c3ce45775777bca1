private import FoundationEssentials

/// The memory of this machine, or of the control group that this process runs in.
package enum MachineMemory {
    /// In bytes: the lowest limit of the machine and of the groups above this process; 4 GiB when none is known.
    ///
    /// - Parameter root: the directory that stands for `/`.
    package static func bytes(root: String = "") -> Int {
        let lines = (try? String(contentsOfFile: "\(root)/proc/meminfo", encoding: .utf8))?.split(separator: "\n")
        let name = "MemTotal:"
        let total = lines?.first { $0.hasPrefix(name) }?.dropFirst(name.count).split(separator: " ").first
        let machine = total.flatMap { Int($0) }.map { $0 * 1024 }
        return [machine, ControlGroup(root: root).memoryBytes].compactMap(\.self).min() ?? 4 << 30
    }

    /// Default limit on the memory of all images of a pool, in bytes.
    package static func budget(of bytes: Int) -> Int { bytes / 4 * 3 }
}
