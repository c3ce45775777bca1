private import Glibc

/// An account of the operating system that runs a server.
package struct ServerAccount: Sendable, Equatable {
    /// The user id.
    package let userID: UInt32
    /// The id of its first group.
    package let groupID: UInt32
    /// The login name.
    package let name: String
    /// Whether the password database has an entry for it. A container may run a program under any user id.
    package var isListed = true

    /// The account that Debian's server packages create; it runs the server for root.
    package static let packaged = "postgres"

    /// The account of that name; nil when there is none.
    package static func named(_ name: String) -> ServerAccount? {
        lookUp { entry, buffer, size, found in getpwnam_r(name, entry, buffer, size, found) }
    }

    /// The account of that user id; nil when there is none.
    package static func withID(_ userID: UInt32) -> ServerAccount? {
        lookUp { entry, buffer, size, found in getpwuid_r(userID, entry, buffer, size, found) }
    }

    /// The account of that user id, also when the password database has no entry for it.
    static func withID(_ userID: UInt32, orUnlistedWithGroup groupID: UInt32) -> ServerAccount {
        withID(userID) ?? ServerAccount(userID: userID, groupID: groupID, name: ClusterFiles.role, isListed: false)
    }

    /// The name for messages; the number if the password database has none.
    static func name(of userID: UInt32) -> String { withID(userID)?.name ?? "user id \(userID)" }

    private static func lookUp(
        _ call: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> Int32
    ) -> ServerAccount? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // Entries of directory services may be longer than sysconf(_SC_GETPW_R_SIZE_MAX).
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 16) { buffer in
            guard let base = buffer.baseAddress, call(&entry, base, buffer.count, &found) == 0, found != nil,
                let name = entry.pw_name
            else { return nil }
            return ServerAccount(userID: entry.pw_uid, groupID: entry.pw_gid, name: String(cString: name))
        }
    }
}
