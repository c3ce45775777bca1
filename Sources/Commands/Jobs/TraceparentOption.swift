import CommandLine
import Telemetry
import Terminal

/// The span whose children the spans of enqueued jobs are.
enum TraceparentOption {
    static let option = Option(
        "traceparent", .value("TEXT"),
        "the span of W3C Trace Context whose child the work is, 00-TRACE-SPAN-FLAGS; default: TRACEPARENT")

    /// The variable that tools set for the programs that they start.
    private static let variable = "TRACEPARENT"

    /// The value in the form of version 00; nil for a command without the option.
    ///
    /// - Throws: wrong usage for a wrong value of the option. A wrong value of `TRACEPARENT` is noted and ignored, as W3C
    ///   Trace Context demands.
    static func value(_ arguments: Arguments) throws(CommandError) -> String? {
        guard arguments.has(option.name) else { return nil }
        if let text = try arguments.value(option.name) {
            guard let context = TraceContext(traceparent: text) else {
                throw .usage(
                    "\(arguments.label(option.name)): '\(text)' is not a traceparent such as "
                        + "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
            }
            return context.traceparent
        }
        guard let text = arguments.environment[variable], !text.isEmpty else { return nil }
        guard let context = TraceContext(traceparent: text) else {
            Console.note("larder: \(variable) is not a traceparent of W3C Trace Context and is ignored")
            return nil
        }
        return context.traceparent
    }
}
