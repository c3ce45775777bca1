import Glibc

/// The process, under the names that all Prometheus clients use, and its children.
struct ProcessMetrics {
    private static func seconds(_ who: Int32) -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(who), &usage)
        func value(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return value(usage.ru_utime) + value(usage.ru_stime)
    }

    /// The second number of statm is the resident size in pages.
    private static func residentBytes() -> Double? {
        guard let file = fopen("/proc/self/statm", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let words = text.split(separator: " ")
        return words.count > 1 ? Double(words[1]).map { $0 * Double(getpagesize()) } : nil
    }

    func write(to page: inout MetricsText) {
        page.add(
            "process_cpu_seconds_total", .counter, "Processor time of this process.", Self.seconds(RUSAGE_SELF.rawValue)
        )
        page.add(
            "larder_ended_children_cpu_seconds_total", .counter, "Processor time of child processes that have ended.",
            Self.seconds(RUSAGE_CHILDREN.rawValue))
        if let bytes = Self.residentBytes() {
            page.add("process_resident_memory_bytes", .gauge, "Resident memory of this process.", bytes)
        }
    }
}
