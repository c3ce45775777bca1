import Concurrency
import Foundation
import Glibc

/// Which faults this machine and this database allow.
struct ChaosSupport {
    let place: ChaosPlace
    let database: ChaosDatabase
    let oldBinary: String?

    /// Why a kind cannot be injected; nil when it can.
    func reasonAgainst(_ kind: FaultKind) -> String? {
        switch kind {
        case .databaseStop, .databaseRestart: database.isOwn ? nil : "only for the command's own server"
        case .poolerRestart:
            !database.isOwn
                ? "only for the command's own server" : ChaosPooler.isInstalled ? nil : "pgbouncer is not installed"
        case .databaseFull:
            !database.isOwn
                ? "only for the command's own server" : place.databaseDisk == nil ? "needs root and mount" : nil
        case .cacheFull: place.cacheDisk == nil ? "needs root and mount" : nil
        case .clockStep: Self.clockLibrary == nil ? "libfaketime is not installed" : nil
        case .noNetwork:
            geteuid() != 0 || place.cacheDisk == nil
                ? "needs root and a network namespace"
                : database.socketDirectory == nil ? "the database is not on a Unix socket" : nil
        case .oldBinary: oldBinary == nil ? "needs --old-binary" : nil
        default: nil
        }
    }

    /// The library of Debian's package libfaketime.
    static var clockLibrary: String? {
        let parents = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return parents.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }.first { access($0, R_OK) == 0 }
    }

    /// Runs a program to its end; its standard output is dropped.
    static func status(_ program: String, _ arguments: [String]) async throws -> ExitStatus {
        let thread = ThreadPool(name: "chaos-program", threads: 1)
        return try await thread.run { () throws(any Error) in
            var child = try ChildProcess(program, arguments, descriptors: [-1, -1, -1])
            return child.wait()
        }
    }

    /// The same for a program that must succeed.
    static func run(_ program: String, _ arguments: [String]) async throws {
        let status = try await status(program, arguments)
        guard status == .exited(0) else {
            throw CommandError.larder(.other, "'\(program) \(arguments.first ?? "")' ended with \(status)")
        }
    }
}
