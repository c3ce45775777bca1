/// Why the queue could not do what it was asked.
///
/// Classified by `code`; `message` is for people and never compared.
public struct QueueError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind, as logs show it.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// No connection could be made: no server answers, or it is starting, stopping or full.
        public static let unreachable = Code("unreachable")
        /// The database URL cannot be understood.
        public static let badDatabaseURL = Code("badDatabaseURL")
        /// The connection broke while a statement ran: whether it took effect is unknown.
        public static let connectionLost = Code("connectionLost")
        /// A statement took longer than the configured time and was cancelled.
        public static let timeout = Code("timeout")
        /// A call for which leases or jobs wait took the connection of a maintenance statement or a claim: whether that
        /// took effect is unknown. The database is well.
        public static let interrupted = Code("interrupted")
        /// The task was cancelled before the statement was sent, or while one ran that changes nothing.
        public static let cancelled = Code("cancelled")
        /// The database has no Larder schema, or an older one.
        public static let notMigrated = Code("notMigrated")
        /// The database has migrations that this program does not have.
        public static let newerSchema = Code("newerSchema")
        /// A migration was applied in another wording than this program's.
        public static let changedMigration = Code("changedMigration")
        /// The database no longer, or not yet, offers this program's worker protocol.
        public static let protocolMismatch = Code("protocolMismatch")
        /// The batch is sealed, cancelled or finished: it refuses further URLs.
        public static let batchClosed = Code("batchClosed")
        /// No such batch.
        public static let unknownBatch = Code("unknownBatch")
        /// No such pipeline.
        public static let unknownPipeline = Code("unknownPipeline")
        /// No such queue.
        public static let unknownQueue = Code("unknownQueue")
        /// No such job, or one with which nothing can be done any more.
        public static let unknownJob = Code("unknownJob")
        /// No such schedule.
        public static let unknownSchedule = Code("unknownSchedule")
        /// Another number of URLs of the list is enqueued than the caller states: another producer enqueues the same
        /// list.
        public static let sourceMoved = Code("sourceMoved")
        /// Another transaction has the batch or the job locked; the message names its session.
        public static let locked = Code("locked")
        /// The worker was stopped or its lease ran out: register again.
        public static let workerLost = Code("workerLost")
        /// An argument is out of range.
        public static let invalidArgument = Code("invalidArgument")
        /// The server refuses the connection: the user or the password (SQLSTATE 28…), an unknown database (3D000), or
        /// a login without CONNECT (42501).
        public static let loginRefused = Code("loginRefused")
        /// Anything else the server refused; see `sqlState`.
        public static let refused = Code("refused")
        /// The server answered in a shape this program does not understand.
        public static let unexpectedAnswer = Code("unexpectedAnswer")
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, in one line, without passwords.
    public let message: String
    /// The server's SQLSTATE, five characters, when it was the server that refused.
    public let sqlState: String?

    package init(_ code: Code, _ message: String, sqlState: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
    }

    /// The message, followed by the SQLSTATE of an error that has no code of its own.
    public var description: String {
        guard code == .refused || code == .loginRefused, let sqlState else { return message }
        return "\(message) (SQLSTATE \(sqlState))"
    }

    /// True when the same call may well succeed later: the database was unreachable or restarting, or two transactions
    /// collided.
    public var isTransient: Bool {
        switch code {
        case .unreachable, .connectionLost, .timeout, .interrupted, .cancelled: true
        default: sqlState.map { SQLState($0).isTransient } ?? false
        }
    }

    /// True when the server refused a value or a row (SQLSTATE class 22, 23 or 54): the same call never succeeds.
    package var refusesValue: Bool { sqlState.map { ["22", "23", "54"].contains($0.prefix(2)) } ?? false }

    /// True when the statement may be unfinished, so that its session cannot be used again.
    var leavesStatement: Bool { code == .connectionLost || code == .timeout || code == .interrupted }
}

extension QueueError {
    /// insufficient_privilege: the login lacks a permission of Larder's.
    package var isDenied: Bool { code != .loginRefused && sqlState == "42501" }
}
