import JobQueue
import Testing

@testable import EmbeddedPostgres

struct EmbeddedPathsTests {
    private let postgres = ServerAccount(userID: 101, groupID: 104, name: "postgres")
    private let alice = ServerAccount(userID: 1000, groupID: 1000, name: "alice")

    private func root(_ home: String) -> ClusterPaths.Circumstances {
        .init(home: home, account: postgres, rootServes: true, clusters: "/var/lib/larder/clusters")
    }

    private func ordinary(_ home: String) -> ClusterPaths.Circumstances {
        .init(home: home, account: alice, rootServes: false, clusters: "/var/lib/larder/clusters")
    }

    @Test(arguments: [true, false])
    func `cluster and socket are in the home, for root and for other users`(isRoot: Bool) {
        let paths = ClusterPaths(isRoot ? root("/srv/larder") : ordinary("/srv/larder"))
        #expect(paths.directory == "/srv/larder/postgres")
        #expect(paths.socketDirectory == "/srv/larder/postgres")
        #expect(paths.data == "/srv/larder/postgres/data")
        #expect(paths.moved == nil)
    }

    @Test func `the root directory can be a home`() {
        #expect(ClusterPaths(root("/")).directory == "/postgres")
    }

    @Test func `a socket path has at most 107 bytes`() {
        // "/" + name + "/postgres" + "/.s.PGSQL.5432"
        let room = 107 - 1 - 9 - 14
        let fits = ClusterPaths(ordinary("/" + String(repeating: "a", count: room)))
        #expect(fits.socketDirectory == fits.directory)
        let long = ClusterPaths(ordinary("/" + String(repeating: "a", count: room + 1)))
        #expect(long.directory.utf8.count == room + 11)
        #expect(long.socketDirectory.hasPrefix("/tmp/larder-1000-"))
        #expect(long.moved == nil)
        // The limit counts bytes, not characters.
        let wide = ClusterPaths(ordinary("/" + String(repeating: "ä", count: room / 2 + 1)))
        #expect(wide.socketDirectory.hasPrefix("/tmp/larder-1000-"))
    }

    @Test(arguments: [",", "'", "\\", "\"", "\n", "ä"])
    func `a path that settings or connection strings would split gets a socket elsewhere`(character: String) {
        let paths = ClusterPaths(ordinary("/srv/a\(character)b"))
        #expect(paths.directory == "/srv/a\(character)b/postgres")
        #expect(paths.socketDirectory == "/tmp/larder-1000-\(ClusterPaths.hash(of: "/srv/a\(character)b"))")
    }

    @Test func `root keeps such sockets next to its moved clusters, not in /tmp`() {
        let home = "/" + String(repeating: "a", count: 200)
        let paths = ClusterPaths(root(home))
        #expect(paths.directory == home + "/postgres")
        #expect(paths.socketDirectory == "/var/lib/larder/clusters/" + ClusterPaths.hash(of: home))
    }

    @Test func `root's cluster is outside a home that the server's user cannot enter, with the reason`() {
        var given = root("/root/larder")
        given.canEnterHome = false
        let paths = ClusterPaths(given)
        #expect(paths.directory == "/var/lib/larder/clusters/" + ClusterPaths.hash(of: "/root/larder"))
        #expect(paths.socketDirectory == paths.directory)
        #expect(paths.moved == "the server's user postgres cannot enter /root/larder")
    }

    @Test func `an existing cluster keeps its directory when the permissions of the home change`() {
        var given = root("/srv/larder")
        given.existsElsewhere = true
        #expect(ClusterPaths(given).directory.hasPrefix("/var/lib/larder/clusters/"))
        given.existsElsewhere = false
        given.existsInHome = true
        given.canEnterHome = false
        #expect(ClusterPaths(given).directory == "/srv/larder/postgres")
    }

    @Test func `an ordinary user's cluster is always in the home`() {
        var given = ordinary("/srv/larder")
        given.canEnterHome = false
        given.existsElsewhere = true
        #expect(ClusterPaths(given).moved == nil)
    }

    // The published vectors of the 64-bit FNV-1a hash.
    @Test(arguments: [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")])
    func `the hash is FNV-1a`(text: String, expected: String) {
        #expect(ClusterPaths.hash(of: text) == expected)
    }
}
