import JobQueue

/// Calls on each database of a command in turn. An error in one of several does not stop the calls on the others.
struct DatabaseCalls {
    private let settings: [Settings]
    private var failures: [CommandError] = []

    init(_ arguments: Arguments) throws(CommandError) { settings = try Settings(arguments).each }

    /// Opens each database, calls `body` and closes nothing: the command ends soon.
    ///
    /// - Returns: what the calls without an error returned.
    /// - Throws: the error of the only database; those of several are kept for `end`.
    mutating func open<Value>(_ body: (OpenDatabase) async throws -> Value) async throws -> [Value] {
        try await each { try await body(try await $0.open()) }
    }

    /// The same with settings that name one database each.
    mutating func each<Value>(_ body: (Settings) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for settings in self.settings {
            do { values.append(try await body(settings)) } catch {
                guard let label = settings.label else { throw error }
                failures.append(CommandError(error).of(label))
            }
        }
        return values
    }

    /// Ends the calls.
    ///
    /// - Throws: the last of the errors that were kept, after a note about each other one.
    func end() throws(CommandError) {
        for failure in failures.dropLast() {
            Console.note("larder: \(failure.message) (\(failure.domain) \(failure.code))")
        }
        if let last = failures.last { throw last }
    }

    /// Opens each database and calls `body`.
    ///
    /// - Throws: the last error, after calls on all databases.
    static func open<Value>(
        _ arguments: Arguments, _ body: (OpenDatabase) async throws -> Value
    ) async throws -> [Value] {
        var calls = try DatabaseCalls(arguments)
        let values = try await calls.open(body)
        try calls.end()
        return values
    }
}
