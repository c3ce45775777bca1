private import ImageModel

/// The directories of a cluster and its socket, computed without file access.
struct ClusterPaths: Sendable, Equatable {
    /// The facts that determine the directories.
    struct Circumstances: Sendable {
        /// An absolute path without symbolic links.
        var home: String
        /// The account that runs the server.
        var account: ServerAccount
        /// True if the caller is root and `account` is Debian's: only then can the cluster be outside the home.
        var rootServes: Bool
        /// The directory for clusters outside their home, and for sockets of homes with an unsuitable path.
        var clusters: String
        /// True if a cluster exists in the home.
        var existsInHome = false
        /// True if a cluster for this home exists under `clusters`.
        var existsElsewhere = false
        /// True if the account can enter the home. Used only while no cluster exists.
        var canEnterHome = true
    }

    /// Contains the data directory, the lock and, if its path is suitable, the socket.
    let directory: String
    let socketDirectory: String
    /// Why `directory` is not in the home; nil if it is.
    let moved: String?

    /// An existing cluster keeps its directory; otherwise a new empty one would replace it.
    init(_ given: Circumstances) {
        let elsewhere = "\(given.clusters)/\(Self.hash(of: given.home))"
        if given.rootServes && !given.existsInHome && (given.existsElsewhere || !given.canEnterHome) {
            directory = elsewhere
            moved = "the server's user \(given.account.name) cannot enter \(given.home)"
        } else {
            directory = Self.inHome(given.home)
            moved = nil
        }
        if Self.isSuitableForSocket(directory) {
            socketDirectory = directory
        } else if given.rootServes {
            socketDirectory = elsewhere
        } else {
            // The user's runtime directory is deleted at log-out, but the server keeps running.
            socketDirectory = "/tmp/larder-\(given.account.userID)-\(Self.hash(of: given.home))"
        }
    }

    var data: String { directory + "/data" }

    /// The directory of a cluster in its home.
    static func inHome(_ home: String) -> String { home == "/" ? "/postgres" : home + "/postgres" }

    /// True if a socket in `directory` can be bound, and named in the server's settings and a URL: `sun_path` has 107
    /// bytes, and the settings and libpq's `host` are split at commas.
    static func isSuitableForSocket(_ directory: String) -> Bool {
        directory.utf8.count + "/.s.PGSQL.5432".utf8.count <= 107
            && directory.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "/._-+~@ ".utf8.contains(byte)
                }
            }
    }

    /// 64-bit FNV-1a, in 16 hexadecimal digits.
    static func hash(of home: String) -> String {
        home.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
            .hexadecimal(digits: 16)
    }
}
