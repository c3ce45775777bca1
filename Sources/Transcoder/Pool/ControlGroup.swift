private import FoundationEssentials

/// The limits of the control group that this process runs in, such as the limits of its container.
///
/// A limit of a group holds for the groups below it: the lowest counts.
package struct ControlGroup: Sendable, Hashable {
    /// Processors' worth of time, such as 0.5; nil without a quota.
    package var processors: Double?
    /// Nil without a limit.
    package var memoryBytes: Int?
    /// Processes and threads together; nil without a limit.
    package var tasks: Int?

    package init(processors: Double? = nil, memoryBytes: Int? = nil, tasks: Int? = nil) {
        (self.processors, self.memoryBytes, self.tasks) = (processors, memoryBytes, tasks)
    }

    /// Reads the kernel's files, of version 1 or 2 of control groups.
    ///
    /// - Parameter root: the directory that stands for `/`.
    package init(root: String) {
        let files = Files(root: root)
        processors =
            (files.texts("cpu.max").map { $0.split(separator: " ") }
            + zip(files.texts("cpu", old: "cpu.cfs_quota_us"), files.texts("cpu", old: "cpu.cfs_period_us"))
            .map { [Substring($0), Substring($1)] })
            .compactMap { words in
                // A quota of "max" or -1 is none.
                guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), quota > 0,
                    period > 0
                else { return nil }
                return quota / period
            }.min()
        let memory = files.texts("memory.max") + files.texts("memory", old: "memory.limit_in_bytes")
        // Without a limit version 1 has the largest number of pages.
        memoryBytes = memory.compactMap { Int($0) }.min().flatMap { $0 < 1 << 60 ? $0 : nil }
        tasks = (files.texts("pids.max") + files.texts("pids", old: "pids.max")).compactMap { Int($0) }.min()
    }

    /// The files of the groups above this process.
    private struct Files {
        let root: String
        let groups: [[Substring]]

        init(root: String) {
            self.root = root
            groups = Self.text("\(root)/proc/self/cgroup").split(separator: "\n").map {
                $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            }.filter { $0.count == 3 }
        }

        /// The first line of a file of version 2 in each group that has it.
        func texts(_ file: String) -> [String] {
            lines(of: file, in: "/sys/fs/cgroup", groups.first { $0[1].isEmpty }?[2])
        }

        /// The same for a file of version 1.
        func texts(_ controller: String, old file: String) -> [String] {
            let group = groups.first { $0[1].split(separator: ",").contains(Substring(controller)) }
            return lines(of: file, in: "/sys/fs/cgroup/\(controller)", group?[2])
        }

        private func lines(of file: String, in top: String, _ path: Substring?) -> [String] {
            // A container may see its own group at the top, while its path is that outside.
            var directories = [top]
            for name in path?.split(separator: "/") ?? [] { directories.append("\(directories.last ?? top)/\(name)") }
            return directories.compactMap {
                Self.text("\(root)\($0)/\(file)").split(separator: "\n").first.map(String.init)
            }
        }

        private static func text(_ path: String) -> String {
            (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        }
    }
}
