private import Glibc

/// A user of the operating system under whom a server runs.
package struct ServerAccount: Sendable, Equatable {
    /// The user's id.
    package let userID: UInt32
    /// The id of the user's first group.
    package let groupID: UInt32
    /// The login name.
    package let name: String

    /// An account as the password database would describe it.
    package init(userID: UInt32, groupID: UInt32, name: String) {
        self.userID = userID
        self.groupID = groupID
        self.name = name
    }

    /// The account Debian's server packages make, under which root runs the server.
    package static let packaged = "postgres"

    /// The account called `name`; nil when there is none.
    package static func named(_ name: String) -> ServerAccount? {
        lookUp { entry, buffer, size, found in getpwnam_r(name, entry, buffer, size, found) }
    }

    /// The account with the id `userID`; nil when there is none.
    package static func withID(_ userID: UInt32) -> ServerAccount? {
        lookUp { entry, buffer, size, found in getpwuid_r(userID, entry, buffer, size, found) }
    }

    /// The name for messages: the number where the password database has none.
    static func name(of userID: UInt32) -> String { withID(userID)?.name ?? "user id \(userID)" }

    private static func lookUp(
        _ call: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> Int32
    ) -> ServerAccount? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // Directory services may answer with entries longer than sysconf(_SC_GETPW_R_SIZE_MAX) suggests.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 16) { buffer in
            guard let base = buffer.baseAddress, call(&entry, base, buffer.count, &found) == 0, found != nil,
                let name = entry.pw_name
            else { return nil }
            return ServerAccount(userID: entry.pw_uid, groupID: entry.pw_gid, name: String(cString: name))
        }
    }
}
