private import Glibc

/// An operating system account that runs a server.
package struct ServerAccount: Sendable, Equatable {
    package let userID: UInt32
    /// Its first group.
    package let groupID: UInt32
    package let name: String
    /// Whether the password database has an entry. A container may run a program under any user id.
    package var isListed = true

    /// The account that Debian's server packages create; it runs root's server.
    package static let packaged = "postgres"

    /// Nil if there is none.
    package static func named(_ name: String) -> ServerAccount? {
        lookUp { entry, buffer, size, found in getpwnam_r(name, entry, buffer, size, found) }
    }

    /// Nil if there is none.
    package static func withID(_ userID: UInt32) -> ServerAccount? {
        lookUp { entry, buffer, size, found in getpwuid_r(userID, entry, buffer, size, found) }
    }

    /// The account with that user id, even without an entry in the password database.
    static func withID(_ userID: UInt32, orUnlistedWithGroup groupID: UInt32) -> ServerAccount {
        withID(userID) ?? ServerAccount(userID: userID, groupID: groupID, name: ClusterFiles.role, isListed: false)
    }

    /// For messages; the number if the password database has no name.
    static func name(of userID: UInt32) -> String { withID(userID)?.name ?? "user id \(userID)" }

    private static func lookUp(
        _ call: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> Int32
    ) -> ServerAccount? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // Directory services' entries may be longer than sysconf(_SC_GETPW_R_SIZE_MAX).
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 16) { buffer in
            guard let base = buffer.baseAddress, call(&entry, base, buffer.count, &found) == 0, found != nil,
                let name = entry.pw_name
            else { return nil }
            return ServerAccount(userID: entry.pw_uid, groupID: entry.pw_gid, name: String(cString: name))
        }
    }
}
