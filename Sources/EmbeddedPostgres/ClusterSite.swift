private import Glibc

/// Locates a cluster: collects the input of `ClusterPaths`.
struct ClusterSite: Sendable {
    let configuration: EmbeddedCluster.Configuration

    init(_ configuration: EmbeddedCluster.Configuration) { self.configuration = configuration }

    /// Reads the file system; creates nothing.
    func locate() throws(ClusterError) -> ClusterPlace {
        let home = ClusterDirectories.canonical(configuration.home)
        let inHome = ClusterPaths.inHome(home)
        let owner = ClusterDirectories.owner(of: inHome)
        let caller = geteuid()
        if caller != 0 {
            let account = ServerAccount.withID(caller, orUnlistedWithGroup: getegid())
            if let owner, owner != caller { throw .foreignCluster(path: inHome, owner: owner) }
            return place(
                .init(home: home, account: account, rootServes: false, clusters: configuration.clusters), isRoot: false)
        }
        // Root uses a user's cluster as that user.
        if let owner, owner != 0, owner != ServerAccount.named(ServerAccount.packaged)?.userID {
            let account = ServerAccount.withID(owner, orUnlistedWithGroup: owner)
            return place(
                .init(home: home, account: account, rootServes: false, clusters: configuration.clusters), isRoot: true)
        }
        guard let account = ServerAccount.named(ServerAccount.packaged) else {
            throw .accountMissing(name: ServerAccount.packaged, package: "postgresql")
        }
        var given = ClusterPaths.Circumstances(
            home: home, account: account, rootServes: true, clusters: configuration.clusters)
        let elsewhere = "\(configuration.clusters)/\(ClusterPaths.hash(of: home))"
        given.existsInHome = ClusterDirectories.exists(inHome + "/data")
        given.existsElsewhere = ClusterDirectories.exists(elsewhere + "/data")
        if !given.existsInHome && !given.existsElsewhere {
            let nearest = nearestExisting(home)
            guard ClusterDirectories.isDirectory(nearest) else {
                throw .file(path: home, call: "mkdir", code: ENOTDIR)
            }
            given.canEnterHome = try canEnter(nearest, account)
        }
        return place(given, isRoot: true)
    }

    private func place(_ given: ClusterPaths.Circumstances, isRoot: Bool) -> ClusterPlace {
        ClusterPlace(
            home: given.home, paths: ClusterPaths(given), account: given.account, isRoot: isRoot,
            configuration: configuration)
    }

    /// Tests it as that user, because access control lists and security modules apply too.
    private func canEnter(_ directory: String, _ account: ServerAccount) throws(ClusterError) -> Bool {
        let commands = ClusterCommands(directory: directory, account: account, isRoot: true)
        return try !commands.run(["/bin/true"], limit: .seconds(30)).couldNotEnter
    }

    /// Missing directories will be created with mode 0755.
    private func nearestExisting(_ path: String) -> String {
        var parts = path.split(separator: "/")
        while !parts.isEmpty {
            let prefix = "/" + parts.joined(separator: "/")
            if access(prefix, F_OK) == 0 { return prefix }
            parts.removeLast()
        }
        return "/"
    }
}
