import CommandLine
import Terminal

/// A command's target: a batch, or the job, queue, origin or schedule named by an option.
enum ControlTarget {
    case batch(String)
    case job(Int64)
    case queue(String)
    case origin(String)
    case schedule(String)

    static let jobOption = Option("job", .value("N"), "one job, by number, instead of a batch")
    static let queueOption = Option("queue", .value("NAME"), "a whole queue instead of a batch")
    static let scheduleOption = Option("schedule", .value("NAME"), "a schedule instead of a batch")

    /// The job's number, also if given as `job:N` in place of a batch.
    var job: Int64? {
        switch self {
        case .job(let number): number
        case .batch(let name) where name.hasPrefix("job:"): Int64(name.dropFirst(4))
        default: nil
        }
    }

    var name: String {
        switch self {
        case .batch(let name), .queue(let name), .origin(let name), .schedule(let name): name
        case .job(let number): "\(number)"
        }
    }

    /// The command's only target: its operand or one of its options, ignoring environment variables.
    ///
    /// - Throws: wrong usage for no target, or several.
    static func required(
        _ arguments: Arguments, of command: String, or options: Option...
    ) throws(CommandError) -> ControlTarget {
        guard let target = try optional(arguments, of: command, or: options) else {
            throw .usage("\(command): a BATCH\(options.map { " or --\($0.name)" }.joined()) is required")
        }
        return target
    }

    /// The same; nil for no target.
    static func optional(
        _ arguments: Arguments, of command: String, or options: Option...
    ) throws(CommandError) -> ControlTarget? {
        try optional(arguments, of: command, or: options)
    }

    private static func optional(
        _ arguments: Arguments, of command: String, or options: [Option]
    ) throws(CommandError) -> ControlTarget? {
        // A variable set for workers selects no target.
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

    /// - Throws: wrong usage if both a target and filter conditions are given.
    static func none(_ arguments: Arguments, of command: String, or option: Option) throws(CommandError) {
        guard try optional(arguments, of: command, or: option) == nil else {
            throw .usage("\(command): a BATCH or --\(option.name) excludes \(JobFilterOptions.names)")
        }
    }

    /// - Throws: wrong usage, prefixed with `label`, unless the text is a job number.
    static func jobNumber(_ text: String, label: String) throws(CommandError) -> Int64 {
        guard let number = Int64(text), number > 0 else {
            throw .usage("\(label): '\(text)' is not the number of a job")
        }
        return number
    }
}
