/// The statements that one session has prepared, by their text.
///
/// A statement is prepared at its second use; preparing one that is used once costs more than it saves. A pooler in
/// transaction mode gives each transaction another server session, which does not have the statement. After such an
/// error this session sends all statements as text. A name is used once and has a part of the session's own, so that it
/// never stands for another statement.
struct PreparedStatements {
    /// How to send a statement.
    enum Plan: Equatable {
        /// With its text.
        case plain
        /// First ask the server to keep it under this name.
        case prepare(String)
        /// The statements by their names on the server.
        case prepared(String)
    }

    private enum Use { case once, kept(String) }

    /// More statements than a program has; what comes later is sent with its text.
    private static let limit = 64

    private var uses: [String: Use] = [:]
    private var isOn = true
    private var names = 0
    private let prefix = "larder_" + String(UInt64.random(in: 0 ... .max), radix: 36)

    /// How to send `sql` now.
    mutating func plan(for sql: String) -> Plan {
        guard isOn else { return .plain }
        switch uses[sql] {
        case .kept(let name): return .prepared(name)
        case .once:
            names += 1
            return .prepare("\(prefix)_\(names)")
        case nil:
            if uses.count < Self.limit { uses[sql] = .once }
            return .plain
        }
    }

    /// The server keeps `sql` under this name.
    mutating func keeps(_ sql: String, as name: String) { uses[sql] = .kept(name) }

    /// The server had no such statement, or it no longer fits: nothing was done. True when it is to be sent once more,
    /// with its text.
    mutating func isRefused(_ error: QueueError) -> Bool {
        switch error.sqlState {
        case "26000", "42P05":  // no such statement, or one of that name: a pooler is between
            isOn = false
            uses = [:]
            return true
        case "0A000":  // a migration has changed what the statement answers
            uses = [:]
            return true
        default: return false
        }
    }
}
