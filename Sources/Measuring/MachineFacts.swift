import FoundationEssentials
import Glibc

/// Facts about the machine in a saved result, without paths.
package enum MachineFacts {
    /// - Parameter load: the load before the run.
    package static func gathered(load: String) async -> [String: String] {
        let facts = [
            "cores": String(ProcessInfo.processInfo.activeProcessorCount),
            "processor": field("model name", in: "/proc/cpuinfo", separator: ":"),
            "system": field("PRETTY_NAME", in: "/etc/os-release", separator: "="),
            "kernel": shell("uname -r"),
            "load": "\(load) before, \(self.load) after",
            "swift": shell("swift --version 2>/dev/null | sed -n 's/.*Swift version \\([^ ]*\\).*/\\1/p'"),
            "postgres": shell("pg_config --version | sed 's/^PostgreSQL \\([^ ]*\\).*/\\1/'"),
            "libvips": shell("pkg-config --modversion vips"),
            "commit": shell(
                "exec 2>/dev/null; git rev-parse --short=12 HEAD && { git diff --quiet HEAD -- Sources migrations Benchmarks || echo changed; }"
            ),
        ]
        return facts.filter { !$0.value.isEmpty }
    }

    /// The load average of the last minute.
    package static var load: String {
        var loads = [0.0, 0, 0]
        return getloadavg(&loads, 1) == 1 ? loads[0].short : ""
    }

    private static func shell(_ command: String) -> String {
        oneLine((try? Shell.output(command)) ?? "")
    }

    private static func field(_ name: String, in file: String, separator: Character) -> String {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return "" }
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return oneLine((line?.split(separator: separator, maxSplits: 1).last ?? "").replacing("\"", with: ""))
    }

    /// Words separated by single spaces.
    private static func oneLine(_ text: some StringProtocol) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
