private import Glibc

/// Moves the data directory to a newer major version of Postgres by `pg_upgrade`; the caller holds the lock.
///
/// The data directory is copied, and the copy gets its final name only when complete:
///
///     data (old)                     an upgrade that is interrupted here has changed nothing
///     data (old), data.upgraded      the copy is complete
///     data.15 (old), data.upgraded   the old directory is kept
///     data.15 (old), data            done
///
/// `finishUpgrade` continues from the second and the third line; every start calls it first.
extension ClusterPlace {
    /// Copying and converting a database of 100 GB takes minutes.
    private static let upgradeSeconds = 3600

    /// The complete copy that is not yet in use.
    private var upgraded: String { paths.directory + "/data.upgraded" }

    /// Upgrades the data directory to the newest installed major version, and leaves the server stopped.
    ///
    /// - Returns: nil if the data directory already has that version.
    func upgradeData() throws(ClusterError) -> ClusterUpgrade? {
        try finishUpgrade()
        guard let old = dataVersion() else { throw .notCreated(path: paths.directory) }
        let target = try findBinaries(major: nil)
        guard target.major > old else { return nil }
        let source = try findBinaries(major: old)
        let kept = "\(paths.data).\(old)"
        guard !ClusterDirectories.exists(kept) else { throw .file(path: kept, call: "rename", code: EEXIST) }
        // A data directory is converted only after a clean shutdown.
        _ = try sessionAfterStart()
        try stopServer()
        let fresh = try initialize(with: target, checksums: try hasChecksums(source))
        try writeFiles(into: fresh)
        let converted = try commands.script(
            """
            mkdir -p -m 0700 upgrade && cd upgrade && rm -rf -- ./* &&
            "$1"/pg_upgrade -b "$2" -B "$1" -d ../data -D "../$3" -U \(ClusterFiles.role) \\
                -s "$4" -p 5432 -P 5433 >report 2>&1 ||
            { tail -n 5 report; exit 1; }
            cd .. && rm -rf upgrade && sed "1,/^include = 'larder.conf'/d" data/postgresql.conf >>"$3"/postgresql.conf
            """, [target.directory, source.directory, fresh, paths.socketDirectory],
            limit: .seconds(Self.upgradeSeconds))
        try check(converted, .upgrade, seconds: Self.upgradeSeconds)
        let placed = try commands.script(
            "sync -- . && mv -T -- \"$1\" data.upgraded && sync -- .", [fresh], limit: .seconds(Self.upgradeSeconds))
        try check(placed, .upgrade, seconds: Self.upgradeSeconds)
        try finishUpgrade()
        return ClusterUpgrade(from: old, to: target.major, oldData: kept)
    }

    /// Puts an interrupted upgrade's complete copy into use.
    func finishUpgrade() throws(ClusterError) {
        guard ClusterDirectories.exists(upgraded) else { return }
        let finished = try commands.script(
            """
            if [ -d data ]; then mv -T -- data "data.$(cat data/PG_VERSION)" && sync -- . || exit; fi
            mv -T -- data.upgraded data && sync -- .
            """, limit: .seconds(60))
        try check(finished, .upgrade, seconds: 60)
    }

    /// Whether the data directory has page checksums: `pg_upgrade` converts only between equal settings.
    private func hasChecksums(_ binaries: ServerBinaries) throws(ClusterError) -> Bool {
        let outcome = try commands.script(
            "\"$1\"/pg_controldata data | grep -q '^Data page checksum version: *0$'", [binaries.directory],
            limit: .seconds(30))
        return !outcome.succeeded
    }
}

/// A finished upgrade of an embedded cluster to another major version of Postgres.
package struct ClusterUpgrade: Sendable, Equatable {
    package let from: Int
    package let to: Int
    /// The old version's data directory, which Larder neither uses nor deletes.
    package let oldData: String

    package init(from: Int, to: Int, oldData: String) {
        self.from = from
        self.to = to
        self.oldData = oldData
    }
}
