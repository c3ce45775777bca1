/// The statements prepared by one session, by text.
///
/// A statement is prepared at its second use; preparing it for a single use costs more than it saves. A transaction
/// pooler may switch to a server session without the statement; after such an error this session sends all statements
/// as text. Names are unique to the session and never reused.
struct PreparedStatements {
    enum Plan: Equatable {
        case plain
        /// Prepare it under this name first.
        case prepare(String)
        case prepared(String)
    }

    private enum Use { case once, kept(String) }

    /// More than a program's statements; further ones are sent as text.
    private static let limit = 64

    private var uses: [String: Use] = [:]
    private var isOn = true
    private var names = 0
    private let prefix = "larder_" + String(UInt64.random(in: 0 ... .max), radix: 36)

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

    /// Records that the server has prepared `sql` under this name.
    mutating func keeps(_ sql: String, as name: String) { uses[sql] = .kept(name) }

    /// True if the server lacks the statement or it no longer fits: nothing was done, so send it once more as text.
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
