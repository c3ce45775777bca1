import Glibc

struct PossibleFaults {
    let place: ChaosPlace
    let database: ChaosDatabase
    let oldBinary: String?

    /// Why a kind cannot be injected; nil if it can.
    func reasonAgainst(_ kind: FaultKind) -> String? {
        switch kind {
        case .databaseStop, .databaseRestart: database.isOwn ? nil : "only for the command's own server"
        case .poolerRestart:
            !database.isOwn
                ? "only for the command's own server" : PrivatePooler.isInstalled ? nil : "pgbouncer is not installed"
        case .databaseFull:
            !database.isOwn
                ? "only for the command's own server" : place.databaseDisk == nil ? "needs root and mount" : nil
        case .cacheFull: place.cacheDisk == nil ? "needs root and mount" : nil
        case .clockStep: SteppedClock.library == nil ? "libfaketime is not installed" : nil
        case .noNetwork:
            geteuid() != 0 || place.cacheDisk == nil
                ? "needs root and a network namespace"
                : database.socketDirectory == nil ? "the database is not on a Unix socket" : nil
        case .oldBinary: oldBinary == nil ? "needs --old-binary" : nil
        default: nil
        }
    }
}
