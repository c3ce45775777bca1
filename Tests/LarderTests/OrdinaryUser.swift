import Foundation
import Glibc
import TestSupport

/// Another user than root, for what root may do anyway.
enum OrdinaryUser {
    /// `nobody`, on every Debian.
    static let id: UInt32 = 65534
    /// The words that run a command as that user.
    static let words = ["setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups"]

    /// Whether that user can reach the program at all; where the package lies in a closed directory, he cannot.
    static func canRunLarder() async throws -> Bool {
        let trial = try? RunningCommand(
            words[0], Array(words.dropFirst()) + [LarderCommand.executable, "--version"],
            environment: ["PATH": "/usr/bin:/bin"], input: [], limit: .seconds(60))
        let outcome = await trial?.outcome()
        if outcome?.code == 0 { return true }
        print("note: an ordinary user cannot run \(LarderCommand.executable): the tests as one do not run")
        return false
    }
}
