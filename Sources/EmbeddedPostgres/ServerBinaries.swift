private import Glibc
internal import JobQueue

/// The directory with `initdb`, `pg_ctl` and `postgres` of one major version.
package struct ServerBinaries: Sendable, Equatable {
    package let directory: String
    /// 15 or newer.
    package let major: Int

    /// The oldest version that Larder's SQL supports.
    package static let oldestMajor = Migrator.oldestServer
    private static let programs = ["initdb", "pg_ctl", "postgres"]

    /// Finds the newest server, or version `major`, since a cluster starts only with its own version.
    ///
    /// - Parameters:
    ///   - packaged: Debian's directory, with one directory `<major>/bin` per version; searched first.
    ///   - searchPath: directories separated by colons, as in PATH.
    ///   - version: the output of `postgres -V` in a search path directory; nil if it cannot be run.
    package static func find(
        major: Int?, packaged: String, searchPath: String, version: (_ directory: String) -> String?
    ) throws(ClusterError) -> ServerBinaries {
        let debian = names(in: packaged).compactMap { Int($0) }
            .map { ServerBinaries(directory: "\(packaged)/\($0)/bin", major: $0) }
        let directories = searchPath.split(separator: ":").map(String.init)
        let fits = { (candidate: ServerBinaries) in
            candidate.major >= oldestMajor && (major == nil || candidate.major == major)
        }
        let installed = debian.filter { fits($0) && isComplete($0.directory) }.max { $0.major < $1.major }
        if let installed { return installed }
        for directory in directories where isComplete(directory) {
            guard let found = version(directory).flatMap(majorVersion) else { continue }
            let candidate = ServerBinaries(directory: directory, major: found)
            if fits(candidate) { return candidate }
        }
        throw .serverMissing(
            package: major.map { "postgresql-\($0)" } ?? "postgresql",
            searched: ["\(packaged)/\(major.map(String.init) ?? "*")/bin"] + directories)
    }

    /// 15 from `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)` or a PG_VERSION file's `15`.
    package static func majorVersion(_ text: String) -> Int? {
        text.split(separator: " ").lazy.compactMap { word in Int(word.prefix { $0.isASCII && $0.isNumber }) }.first
    }

    private static func isComplete(_ directory: String) -> Bool {
        programs.allSatisfy { access("\(directory)/\($0)", X_OK) == 0 }
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }
}
