import Glibc

/// A user other than root, for permissions that root ignores.
public enum OrdinaryUser {
    /// `nobody`, on every Debian.
    public static let id: UInt32 = 65534
    /// The command line prefix that runs a command as this user.
    public static let words = ["setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups"]

    /// Whether this user can run the program; not when the package is in a private directory.
    public static func canRunLarder() async throws -> Bool {
        // By a shell: setpriv still has root's capabilities when it starts a program.
        let trial = try? RunningCommand(
            words[0], Array(words.dropFirst()) + ["sh", "-c", "exec \"$0\" --version", LarderCommand.executable],
            environment: ["PATH": "/usr/bin:/bin"], input: [])
        let outcome = await trial?.outcome()
        if outcome?.code == 0 { return true }
        print("note: an ordinary user cannot run \(LarderCommand.executable): the tests as one do not run")
        return false
    }
}
