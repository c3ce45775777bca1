import JobQueue

/// What `cancel`, `pause`, `resume`, `retry` and `status` act on: a batch, or what an option names instead.
enum ControlTarget {
    case batch(String)
    case job(Int64)
    case queue(String)

    static let jobOption = Option("job", .value("N"), "one job, by its number, instead of a batch")
    static let queueOption = Option("queue", .value("NAME"), "a whole queue instead of a batch")

    /// The job meant, with `job:N` in the place of a batch, too.
    var job: Int64? {
        switch self {
        case .job(let number): number
        case .batch(let name) where name.hasPrefix("job:"): Int64(name.dropFirst(4))
        default: nil
        }
    }

    /// The one target that the command names; an operand wins over a variable.
    ///
    /// - Throws: wrong usage when there is none, or more than one.
    static func one(_ arguments: Arguments, of command: String, or option: Option) throws(CommandError) -> ControlTarget
    {
        guard let target = try optional(arguments, of: command, or: option) else {
            throw .usage("\(command): which BATCH? Or name a \(option.name) with --\(option.name)")
        }
        return target
    }

    /// The same, nil when none is named.
    static func optional(
        _ arguments: Arguments, of command: String, or option: Option
    ) throws(CommandError) -> ControlTarget? {
        let operands = try arguments.operands()
        guard operands.count <= 1 else { throw .usage("\(command): one BATCH at a time") }
        if let operand = operands.first {
            guard !arguments.isGiven(option.name) else {
                throw .usage("\(command): '\(operand)' and --\(option.name) exclude each other")
            }
            guard !operand.isEmpty else { throw .usage("\(command): a BATCH has a name or a number, not ''") }
            return .batch(operand)
        }
        guard option.name == jobOption.name else { return try arguments.value(option.name).map(ControlTarget.queue) }
        guard let text = try arguments.value(option.name) else { return nil }
        guard let number = Int64(text), number > 0 else {
            throw .usage("--\(option.name): '\(text)' is not the number of a job")
        }
        return .job(number)
    }
}
