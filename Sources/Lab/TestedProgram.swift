import FoundationEssentials
import Measuring

enum TestedProgram {
    /// `larder` in this program's directory.
    static func path() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path =
            own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/larder"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw MeasuringError("there is no \(path)") }
        return path
    }
}
