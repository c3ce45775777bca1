import Foundation
import Glibc
import Measuring

/// Sets the peak of this process's memory (`VmHWM`) back to its present value.
func resetPeakMemory() { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }

/// A size from /proc/self/status, in MiB; 0 when the kernel has no such field.
func memorySize(_ name: String) -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return (line?.split(separator: " ").compactMap { Double($0) }.first ?? 0) / 1024
}

/// Processor time of all children that have ended.
var childrenSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
