/// A kind of fault that `larder-lab chaos` injects.
enum FaultKind: String, CaseIterable, Sendable {
    case workerKill = "worker-kill"
    case workerStop = "worker-stop"
    case transcoderKill = "transcoder-kill"
    case transcoderStop = "transcoder-stop"
    case databaseStop = "database-stop"
    case databaseRestart = "database-restart"
    case backendTerminate = "backend-terminate"
    case poolerRestart = "pooler-restart"
    case databaseDrop = "database-drop"
    case databaseDelay = "database-delay"
    case databaseHalfOpen = "database-half-open"
    case databaseFull = "database-full"
    case originDrop = "origin-drop"
    case originDelay = "origin-delay"
    case originHalfOpen = "origin-half-open"
    case cacheFull = "cache-full"
    case clockStep = "clock-step"
    case noNetwork = "no-network"
    case idleProducer = "idle-producer"
    case heldSnapshot = "held-snapshot"
    case oldBinary = "old-binary"

    /// How often it is injected relative to the others.
    var weight: Int {
        switch self {
        case .workerKill: 6
        case .transcoderKill: 4
        case .workerStop, .databaseStop: 2
        default: 1
        }
    }

    /// Seconds from the injection to its end. A kill ends immediately.
    var duration: ClosedRange<Double> {
        switch self {
        case .workerKill, .transcoderKill, .databaseRestart, .backendTerminate, .poolerRestart: 0...0
        // Some stops last longer than a lease of 15 s.
        case .workerStop: 0.5...18
        case .transcoderStop: 0.2...4
        case .databaseStop, .databaseDrop, .originDrop: 0...3
        case .databaseDelay, .originDelay, .databaseFull, .cacheFull: 1...4
        case .databaseHalfOpen, .originHalfOpen: 1...8
        case .clockStep, .noNetwork, .oldBinary: 4...10
        case .idleProducer: 3...15
        case .heldSnapshot: 8...25
        }
    }

    /// Two faults of one group are never active at once.
    var group: String {
        switch self {
        case .databaseStop, .databaseRestart, .databaseFull: "server"
        case .databaseDrop, .databaseDelay, .databaseHalfOpen: "database proxy"
        case .originDrop, .originDelay, .originHalfOpen: "origin proxy"
        default: rawValue
        }
    }

    /// Whether the server itself is down or refuses writes, so that no statement can be expected to succeed.
    var disturbsDatabase: Bool { [.databaseStop, .databaseRestart, .databaseFull].contains(self) }
}
