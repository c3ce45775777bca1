private import FoundationEssentials

/// The limits of this process's control group, such as its container's.
///
/// A group's limit also applies to the groups below it: the lowest counts.
package struct ControlGroup: Sendable, Hashable {
    /// Processors, such as 0.5; nil without a quota.
    package var processors: Double?
    /// Nil without a limit.
    package var memoryBytes: Int?
    /// Processes plus threads; nil without a limit.
    package var tasks: Int?

    package init(processors: Double? = nil, memoryBytes: Int? = nil, tasks: Int? = nil) {
        (self.processors, self.memoryBytes, self.tasks) = (processors, memoryBytes, tasks)
    }

    /// Reads the kernel's files for control groups version 1 or 2.
    ///
    /// - Parameter root: the directory used as `/`.
    package init(root: String) {
        let files = Files(root: root)
        processors =
            (files.texts("cpu.max").map { $0.split(separator: " ") }
            + zip(files.texts("cpu", old: "cpu.cfs_quota_us"), files.texts("cpu", old: "cpu.cfs_period_us"))
            .map { [Substring($0), Substring($1)] })
            .compactMap { words in
                // A quota of "max" or -1 means none.
                guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), quota > 0,
                    period > 0
                else { return nil }
                return quota / period
            }.min()
        let memory = files.texts("memory.max") + files.texts("memory", old: "memory.limit_in_bytes")
        // Version 1 represents no limit as the largest number of pages.
        memoryBytes = memory.compactMap { Int($0) }.min().flatMap { $0 < 1 << 60 ? $0 : nil }
        tasks = (files.texts("pids.max") + files.texts("pids", old: "pids.max")).compactMap { Int($0) }.min()
    }

    /// The files of this process's groups.
    private struct Files {
        let root: String
        let groups: [[Substring]]

        init(root: String) {
            self.root = root
            groups = Self.text("\(root)/proc/self/cgroup").split(separator: "\n").map {
                $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            }.filter { $0.count == 3 }
        }

        /// The first line of a version 2 file in each group that has it.
        func texts(_ file: String) -> [String] {
            lines(of: file, in: "/sys/fs/cgroup", groups.first { $0[1].isEmpty }?[2])
        }

        /// The same for a version 1 file.
        func texts(_ controller: String, old file: String) -> [String] {
            let group = groups.first { $0[1].split(separator: ",").contains(Substring(controller)) }
            return lines(of: file, in: "/sys/fs/cgroup/\(controller)", group?[2])
        }

        private func lines(of file: String, in top: String, _ path: Substring?) -> [String] {
            // A container may see its own group at the top, but with the outer path.
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
