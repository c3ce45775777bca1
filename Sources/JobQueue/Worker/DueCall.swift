/// A call that a worker makes besides claims, completions and heartbeats, as `larder.heartbeat_v1` and
/// `larder.claim_idle_v1` name it.
package enum DueCall: String, Sendable, CaseIterable {
    /// Maintenance, by its kinds.
    case urgent, routine, owner
    /// Enqueue a schedule.
    case schedule
    /// Post a webhook.
    case webhook
    /// Read the held origins, which deletes the holds that have ended.
    case origins
    /// Check whether the worker has reached its end.
    case end

    /// The maintenance of one kind.
    package init(_ kind: MaintenanceKind) {
        self =
            switch kind {
            case .urgent: .urgent
            case .routine: .routine
            case .owner: .owner
            case .schedule: .schedule
            }
    }
}

extension Set<DueCall> {
    /// The calls that an answer of the database names, separated by commas.
    init(names: String?) {
        self = Set((names ?? "").split(separator: ",").compactMap { DueCall(rawValue: String($0)) })
    }

    /// Their names, as the database takes them.
    var names: [String] { map(\.rawValue).sorted() }
}
