import CommandLine
import Terminal
import Transcoder

/// Default concurrency of a worker: as much as this machine and its control group allow.
struct WorkerSize: Sendable, Hashable {
    let transcoders: Int
    /// Concurrent jobs.
    let slots: Int
    /// Bytes of memory per image.
    let imageBytes: Int

    /// - Parameters:
    ///   - cores: the cores that this process may use.
    ///   - memory: bytes of memory of the machine or group.
    init(cores: Int, memory: Int, group: ControlGroup) {
        let budget = MachineMemory.budget(of: memory)
        // A worker has some 30 threads, more with many slots and a busy store; a transcoder has 6.
        let byTasks = group.tasks.map { ($0 - 64) / 8 } ?? cores
        let byTime = group.processors.map { Int($0.rounded(.up)) } ?? cores
        transcoders = max(1, min(cores, byTime, budget / Self.leastImageBytes, byTasks))
        slots = max(Self.leastSlots, min(Self.mostSlots, memory / Self.bytesPerSlot))
        imageBytes = min(TranscodeLimits().memoryBytes, budget)
    }

    /// The description in `larder doctor` of the machine and a worker with this transcoder configuration.
    static func found(_ configuration: TranscoderPool.Configuration) -> String {
        let group = ControlGroup(root: "")
        let limits = [
            group.processors.map { "\(Double(Int($0 * 100)) / 100) cores" },
            group.memoryBytes.map { "\(ByteCount($0).text) of memory" },
            group.tasks.map { "\($0) processes and threads" },
        ].compactMap(\.self)
        return "\(Machine.cores.counted("core")), \(ByteCount(MachineMemory.bytes()).text) of memory; control group: "
            + (limits.isEmpty ? "no limits" : limits.joined(separator: ", "))
            + "; a worker has \(configuration.count.counted("transcoder")), \(here.slots) slots, "
            + "\(ByteCount(configuration.limits.memoryBytes).text) for an image"
    }

    static let here = WorkerSize(
        cores: Machine.cores, memory: MachineMemory.bytes(), group: ControlGroup(root: ""))

    /// With less memory, a transcoder would mostly wait.
    private static let leastImageBytes = 256 << 20
    private static let leastSlots = 4
    private static let mostSlots = 32
    /// A slot needs some hundred KB, and up to ten times that while loading over TLS and HTTP/2.
    private static let bytesPerSlot = 8 << 20
}
