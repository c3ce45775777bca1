import Glibc
package import Telemetry

/// Metrics of the process, under Prometheus' standard names, and of its children.
package struct ProcessMetrics {
    package init() {}

    /// Processor seconds: of this process, and of ended children.
    private static func processorTime() -> (own: Double, children: Double) {
        var ticks = tms()
        _ = times(&ticks)
        let second = Double(sysconf(Int32(_SC_CLK_TCK)))
        return (
            Double(ticks.tms_utime + ticks.tms_stime) / second, Double(ticks.tms_cutime + ticks.tms_cstime) / second
        )
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

    package func write(to page: inout MetricsPage) {
        let time = Self.processorTime()
        page.add("process_cpu_seconds_total", .counter, "Processor time of this process.", time.own)
        page.add(
            "larder_ended_children_cpu_seconds_total", .counter, "Processor time of child processes that have ended.",
            time.children)
        if let bytes = Self.residentBytes() {
            page.add("process_resident_memory_bytes", .gauge, "Resident memory of this process.", bytes)
        }
    }
}
