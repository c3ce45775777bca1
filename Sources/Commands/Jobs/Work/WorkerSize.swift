import CommandLine
import Terminal
import Transcoder

/// How much a worker does at once where no option says it: what this machine and its control group have room for.
struct WorkerSize: Sendable, Hashable {
    /// Child processes that transcode.
    let transcoders: Int
    /// Jobs held at once.
    let slots: Int
    /// Memory of one image, in bytes.
    let imageBytes: Int

    /// - Parameters:
    ///   - cores: the cores that this process may use.
    ///   - memory: the machine's or the group's memory, in bytes.
    init(cores: Int, memory: Int, group: ControlGroup) {
        let budget = MachineMemory.budget(of: memory)
        // A worker has some 30 threads, more with many slots and a busy store, and a transcoder 6.
        let byTasks = group.tasks.map { ($0 - 64) / 8 } ?? cores
        let byTime = group.processors.map { Int($0.rounded(.up)) } ?? cores
        transcoders = max(1, min(cores, byTime, budget / Self.leastImageBytes, byTasks))
        slots = max(Self.leastSlots, min(Self.mostSlots, memory / Self.bytesPerSlot))
        imageBytes = min(TranscodeLimits().memoryBytes, budget)
    }

    /// What `larder doctor` says of the machine, and of a worker with this configuration of transcoders.
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

    /// The size of this process.
    static let here = WorkerSize(
        cores: Machine.cores, memory: MachineMemory.bytes(), group: ControlGroup(root: ""))

    /// A transcoder for which there is less would mostly wait.
    private static let leastImageBytes = 256 << 20
    private static let leastSlots = 4
    private static let mostSlots = 32
    /// A slot holds some hundred KB, and up to ten times that while it loads over TLS and HTTP/2.
    private static let bytesPerSlot = 8 << 20
}
