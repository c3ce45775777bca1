package import Terminal

extension Console {
    /// Prints a result as JSON with `--json`, else as a line of text.
    package static func show(_ value: some Encodable, _ arguments: Arguments, _ text: @autoclosure () -> String) throws
    {
        if arguments.flag("json") { try json(value) } else { line(text()) }
    }

    package static func show(_ object: JSONObject, _ arguments: Arguments, _ text: @autoclosure () -> String) throws {
        if arguments.flag("json") { try json(object) } else { line(text()) }
    }

    /// Prints the result of a command that wrote `output`: on standard error when that is standard output.
    package static func show(
        _ object: JSONObject, _ arguments: Arguments, output: String?, _ text: @autoclosure () -> String
    ) throws {
        if output == OutputFile.standard { note(text()) } else { try show(object, arguments, text()) }
    }

    /// Prints the error of a command that continued after it, if there is one.
    package static func report(_ error: (any Error)?, _ arguments: Arguments) -> ExitCode {
        guard let error else { return .done }
        report(CommandError(error), asJSON: arguments.flag("json"))
        return .failed
    }
}
