/// Why a cluster does not lie in its home.
public enum ClusterMove: Sendable, Equatable, CustomStringConvertible {
    /// The server's user `user` cannot enter `home`.
    case cannotEnter(user: String, home: String)

    /// One line for people.
    public var description: String {
        switch self {
        case .cannotEnter(let user, let home): "the server's user \(user) cannot enter \(home)"
        }
    }
}

/// Where a cluster and its socket lie: a pure decision.
package struct ClusterPaths: Sendable, Equatable {
    /// What the decision rests on.
    package struct Circumstances: Sendable {
        /// Absolute, without symbolic links.
        package var home: String
        /// Under whom the server runs.
        package var account: ServerAccount
        /// Root asks, and `account` is the packaged one: only then can the cluster lie elsewhere.
        package var rootServes: Bool
        /// Where clusters lie that cannot lie in their home, and the sockets of homes with an unsuitable path.
        package var clusters: String
        /// There is a cluster in the home.
        package var existsInHome: Bool
        /// There is a cluster for this home under `clusters`.
        package var existsElsewhere: Bool
        /// The account can enter the home. Matters only where there is no cluster yet.
        package var canEnterHome: Bool

        package init(
            home: String, account: ServerAccount, rootServes: Bool, clusters: String, existsInHome: Bool = false,
            existsElsewhere: Bool = false, canEnterHome: Bool = true
        ) {
            self.home = home
            self.account = account
            self.rootServes = rootServes
            self.clusters = clusters
            self.existsInHome = existsInHome
            self.existsElsewhere = existsElsewhere
            self.canEnterHome = canEnterHome
        }
    }

    /// The directory that holds the data directory, the logs and, where its path allows, the socket.
    package let directory: String
    /// The directory of the socket.
    package let socketDirectory: String
    /// Why `directory` is not in the home.
    package let moved: ClusterMove?

    /// Decides. A cluster that exists stays where it is, or an emptier one would silently take its place.
    package init(_ given: Circumstances) {
        let elsewhere = "\(given.clusters)/\(Self.hash(of: given.home))"
        if given.rootServes && !given.existsInHome && (given.existsElsewhere || !given.canEnterHome) {
            directory = elsewhere
            moved = .cannotEnter(user: given.account.name, home: given.home)
        } else {
            directory = Self.inHome(given.home)
            moved = nil
        }
        if Self.isSuitableForSocket(directory) {
            socketDirectory = directory
        } else if given.rootServes {
            socketDirectory = elsewhere
        } else {
            // Not the user's runtime directory: that one goes at log-out, and the server stays up.
            socketDirectory = "/tmp/larder-\(given.account.userID)-\(Self.hash(of: given.home))"
        }
    }

    /// Postgres' name for the data directory.
    package var data: String { directory + "/data" }

    /// The cluster's directory within `home`.
    package static func inHome(_ home: String) -> String { home == "/" ? "/postgres" : home + "/postgres" }

    /// True when a socket in `directory` can be bound, named in the server's settings and in a connection string.
    ///
    /// `sun_path` takes 107 bytes; the settings split at commas, and so does libpq's `host`.
    package static func isSuitableForSocket(_ directory: String) -> Bool {
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

    /// 16 hexadecimal digits, the 64-bit FNV-1a hash of the bytes.
    package static func hash(of home: String) -> String {
        let value = home.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
