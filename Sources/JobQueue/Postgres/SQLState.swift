/// Postgres' five-character error code, with the classes that the queue handles.
struct SQLState: RawRepresentable, Hashable, Sendable {
    let rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }
    init(_ rawValue: String) { self.rawValue = rawValue }

    static let queryCanceled = SQLState("57014")
    static let undefinedTable = SQLState("42P01")
    static let undefinedFunction = SQLState("42883")
    static let undefinedSchema = SQLState("3F000")
    static let readOnlyTransaction = SQLState("25006")
    static let lockNotAvailable = SQLState("55P03")
    static let invalidParameter = SQLState("22023")
    static let insufficientPrivilege = SQLState("42501")

    // Larder's class LA, raised by the functions in `migrations`.
    static let batchClosed = SQLState("LA001")
    static let unknownBatch = SQLState("LA002")
    static let unknownPipeline = SQLState("LA003")
    static let protocolMismatch = SQLState("LA004")
    static let workerLost = SQLState("LA005")
    static let unknownQueue = SQLState("LA006")
    static let unknownJob = SQLState("LA007")
    static let waitedTooLong = SQLState("LA008")
    static let sourceMoved = SQLState("LA009")
    static let locked = SQLState("LA010")
    static let unknownSchedule = SQLState("LA013")

    /// True for temporary errors: connection trouble (08), collisions (40), resources (53), shutdown and restart (57P),
    /// a standby that still refuses writes (25006), and a partition being attached (55P03).
    var isTransient: Bool {
        rawValue.hasPrefix("08") || rawValue.hasPrefix("40") || rawValue.hasPrefix("53") || rawValue.hasPrefix("57P")
            || self == .readOnlyTransaction || self == .lockNotAvailable
    }

    /// True if another session has just created the same object.
    var isCollision: Bool { ["23505", "42P06", "42P07", "42710"].contains(rawValue) }

    /// True for deadlocks (40P01) and lock timeouts.
    var isLockConflict: Bool { rawValue == "40P01" || self == .lockNotAvailable }

    /// True for temporary errors that certainly had no effect. Excludes a session's end (57P), which may follow the
    /// commit.
    var isUndone: Bool {
        rawValue.hasPrefix("40") || rawValue.hasPrefix("53") || self == .readOnlyTransaction
            || self == .lockNotAvailable
    }

    /// The error code for this state.
    var code: QueueError.Code {
        switch self {
        case .batchClosed: .batchClosed
        case .unknownBatch: .unknownBatch
        case .unknownPipeline: .unknownPipeline
        case .unknownQueue: .unknownQueue
        case .unknownJob: .unknownJob
        case .unknownSchedule: .unknownSchedule
        case .sourceMoved: .sourceMoved
        case .locked: .locked
        case .protocolMismatch: .protocolMismatch
        case .workerLost: .workerLost
        case .invalidParameter: .invalidArgument
        case .queryCanceled, .waitedTooLong: .timeout
        case .undefinedTable, .undefinedFunction, .undefinedSchema: .notMigrated
        default: .refused
        }
    }
}
