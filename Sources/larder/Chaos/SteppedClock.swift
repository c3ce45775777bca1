import FoundationEssentials
import Glibc

/// A clock that a worker sees instead of the machine's, by libfaketime.
enum SteppedClock {
    /// The library of Debian's package libfaketime; nil when it is not installed.
    static var library: String? {
        let parents = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return parents.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }.first { access($0, R_OK) == 0 }
    }
}
