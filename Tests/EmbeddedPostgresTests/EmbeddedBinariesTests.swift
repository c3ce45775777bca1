import EmbeddedPostgres
import Foundation
import JobQueue
import TestSupport
import Testing

struct EmbeddedBinariesTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        for version in ["9.6", "14", "15", "16"] { try install("\(version)/bin") }
        try FileManager.default.removeItem(atPath: directory.file("16/bin/initdb"))
    }

    private func install(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: directory.file(name), withIntermediateDirectories: true)
        for program in ["initdb", "pg_ctl", "postgres"] {
            let path = try directory.write("".utf8, to: "\(name)/\(program)")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
    }

    private func find(
        _ major: Int? = nil, packaged: String? = nil, searchPath: String = "", version: String? = nil
    ) throws(ClusterError) -> ServerBinaries {
        try ServerBinaries.find(major: major, packaged: packaged ?? directory.path, searchPath: searchPath) { _ in
            version
        }
    }

    @Test func `the newest complete version is used, by number`() throws {
        #expect(try find().directory == directory.file("15/bin"))
        try install("100/bin")
        #expect(try find().major == 100)
    }

    @Test func `a cluster gets its own version or an error that names the package`() throws {
        try install("17/bin")
        #expect(try find(15).major == 15)
        let error = #expect(throws: ClusterError.self) { try find(16) }
        #expect(
            error == .serverMissing(package: "postgresql-16", searched: [directory.file("16/bin")]))
    }

    @Test func `outside of Debian's directory the version is that printed by the program`() throws {
        try install("local")
        let path = "/no/such:\(directory.file("local"))"
        let found = try find(packaged: "/no/such", searchPath: path, version: "postgres (PostgreSQL) 17.2 (custom 9)")
        #expect(found.directory == directory.file("local"))
        #expect(found.major == 17)
        for version in ["postgres (PostgreSQL) 14.9", "nonsense", nil] {
            #expect(
                throws: ClusterError.serverMissing(
                    package: "postgresql", searched: ["/no/such/*/bin", "/no/such", directory.file("local")])
            ) {
                try find(packaged: "/no/such", searchPath: path, version: version)
            }
        }
    }

    @Test func `the error is one line with the package's name`() {
        let error = ClusterError.serverMissing(package: "postgresql", searched: ["/a", "/b"])
        #expect("\(error)" == "no Postgres server binaries in /a, /b; install the Debian package postgresql")
    }
}
