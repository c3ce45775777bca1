import CommandLine
import Terminal

/// The target of a command: a batch, or the job, queue, origin or schedule that an option names instead.
enum ControlTarget {
    case batch(String)
    case job(Int64)
    case queue(String)
    case origin(String)
    case schedule(String)

    static let jobOption = Option("job", .value("N"), "one job, by number, instead of a batch")
    static let queueOption = Option("queue", .value("NAME"), "a whole queue instead of a batch")
    static let scheduleOption = Option("schedule", .value("NAME"), "a schedule instead of a batch")

    /// The number of the job, also when it is given as `job:N` in place of a batch.
    var job: Int64? {
        switch self {
        case .job(let number): number
        case .batch(let name) where name.hasPrefix("job:"): Int64(name.dropFirst(4))
        default: nil
        }
    }

    /// The name of the batch, queue, origin or schedule.
    var name: String {
        switch self {
        case .batch(let name), .queue(let name), .origin(let name), .schedule(let name): name
        case .job(let number): "\(number)"
        }
    }

    /// The only target of the command: its operand or one of its options, never an option's environment variable.
    ///
    /// - Throws: wrong usage when there is none, or more than one.
    static func required(
        _ arguments: Arguments, of command: String, or options: Option...
    ) throws(CommandError) -> ControlTarget {
        guard let target = try optional(arguments, of: command, or: options) else {
            throw .usage("\(command): a BATCH\(options.map { " or --\($0.name)" }.joined()) is required")
        }
        return target
    }

    /// The same; nil when the command names no target.
    static func optional(
        _ arguments: Arguments, of command: String, or options: Option...
    ) throws(CommandError) -> ControlTarget? {
        try optional(arguments, of: command, or: options)
    }

    private static func optional(
        _ arguments: Arguments, of command: String, or options: [Option]
    ) throws(CommandError) -> ControlTarget? {
        // A variable that is set for workers chooses no target.
        let given = options.filter { arguments.isGiven($0.name) }
        if !arguments.operandBytes.isEmpty {
            let operand = try arguments.operand("BATCH", of: command)
            if let option = given.first {
                throw .usage("\(command): '\(operand)' and --\(option.name) exclude each other")
            }
            return .batch(operand)
        }
        guard let option = given.first, let text = try arguments.value(option.name) else { return nil }
        if given.count > 1 {
            throw .usage("\(command): --\(given[0].name) and --\(given[1].name) exclude each other")
        }
        guard !text.isEmpty else { throw .usage("--\(option.name): is empty") }
        return switch option.name {
        case jobOption.name: .job(try jobNumber(text, label: "--\(option.name)"))
        case queueOption.name: .queue(text)
        case scheduleOption.name: .schedule(text)
        default: .origin(text)
        }
    }

    /// - Throws: wrong usage when the command names a target and the conditions of a filter.
    static func none(_ arguments: Arguments, of command: String, or option: Option) throws(CommandError) {
        guard try optional(arguments, of: command, or: option) == nil else {
            throw .usage("\(command): a BATCH or --\(option.name) excludes \(JobFilterOptions.names)")
        }
    }

    /// - Throws: wrong usage, with `label` before it, for a text that is no number of a job.
    static func jobNumber(_ text: String, label: String) throws(CommandError) -> Int64 {
        guard let number = Int64(text), number > 0 else {
            throw .usage("\(label): '\(text)' is not the number of a job")
        }
        return number
    }
}
