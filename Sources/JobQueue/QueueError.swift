/// Why a queue call failed.
///
/// Classified by `code`; `message` is for people and never compared.
public struct QueueError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind, as logs show it.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// Cannot connect: no server answers, or it is starting, stopping or full.
        public static let unreachable = Code("unreachable")
        /// The database URL cannot be understood.
        public static let badDatabaseURL = Code("badDatabaseURL")
        /// The connection broke while a statement ran; it may have taken effect.
        public static let connectionLost = Code("connectionLost")
        /// A statement took longer than its time limit and was cancelled.
        public static let timeout = Code("timeout")
        /// Another call, on which leases or jobs depend, took the connection; the statement may have taken effect. The
        /// database works.
        public static let interrupted = Code("interrupted")
        /// The task was cancelled before the statement was sent, or during one that changes nothing.
        public static let cancelled = Code("cancelled")
        /// The database has no Larder schema, or an older one.
        public static let notMigrated = Code("notMigrated")
        /// The database has migrations unknown to this program.
        public static let newerSchema = Code("newerSchema")
        /// An applied migration differs from this program's.
        public static let changedMigration = Code("changedMigration")
        /// The database does not offer this program's worker protocol.
        public static let protocolMismatch = Code("protocolMismatch")
        /// The batch is sealed, cancelled or finished and refuses further URLs.
        public static let batchClosed = Code("batchClosed")
        /// No such batch.
        public static let unknownBatch = Code("unknownBatch")
        /// No such pipeline.
        public static let unknownPipeline = Code("unknownPipeline")
        /// No such queue.
        public static let unknownQueue = Code("unknownQueue")
        /// No such job, or its state does not allow the call.
        public static let unknownJob = Code("unknownJob")
        /// No such schedule.
        public static let unknownSchedule = Code("unknownSchedule")
        /// The number of enqueued URLs of the list is not the caller's: another producer is enqueuing the same list.
        public static let sourceMoved = Code("sourceMoved")
        /// Another transaction has locked the batch or job; the message names its session.
        public static let locked = Code("locked")
        /// The worker was stopped or its lease has expired: register again.
        public static let workerLost = Code("workerLost")
        /// An argument is out of range.
        public static let invalidArgument = Code("invalidArgument")
        /// The server refuses the connection: wrong user or password (SQLSTATE 28…), unknown database (3D000), or no
        /// CONNECT privilege (42501).
        public static let loginRefused = Code("loginRefused")
        /// Any other refusal by the server; see `sqlState`.
        public static let refused = Code("refused")
        /// The server's answer has an unexpected shape.
        public static let unexpectedAnswer = Code("unexpectedAnswer")
    }

    /// The kind of failure.
    public let code: Code
    /// One line, without passwords.
    public let message: String
    /// The server's five-character SQLSTATE; nil unless the server refused.
    public let sqlState: String?

    package init(_ code: Code, _ message: String, sqlState: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
    }

    /// The message, followed by the SQLSTATE if the error has no code of its own.
    public var description: String {
        guard code == .refused || code == .loginRefused, let sqlState else { return message }
        return "\(message) (SQLSTATE \(sqlState))"
    }

    /// True if the same call may succeed later: the database was unreachable or restarting, or two transactions
    /// collided.
    public var isTransient: Bool {
        switch code {
        case .unreachable, .connectionLost, .timeout, .interrupted, .cancelled: true
        default: sqlState.map { SQLState($0).isTransient } ?? false
        }
    }

    /// True if the server refused a value or row (SQLSTATE class 22, 23 or 54): the same call never succeeds.
    package var refusesValue: Bool { sqlState.map { ["22", "23", "54"].contains($0.prefix(2)) } ?? false }

    /// True if the statement may be unfinished, so that its session cannot be reused.
    var leavesStatement: Bool { code == .connectionLost || code == .timeout || code == .interrupted }
}

extension QueueError {
    /// insufficient_privilege: the login lacks a permission.
    package var isDenied: Bool { code != .loginRefused && sqlState == "42501" }
}
