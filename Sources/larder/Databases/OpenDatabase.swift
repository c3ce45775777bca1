import JobQueue

/// A database that a command has opened.
struct OpenDatabase: Sendable {
    /// How results name it; nil unless it is one of several.
    let label: String?
    let queue: PostgresJobQueue

    /// Prints a result: one of several databases is the field `database`, in text the first column.
    func show(_ object: JSONObject, _ arguments: Arguments, _ text: @autoclosure () -> String) throws {
        try Console.show(object.of(label), arguments, column + text())
    }

    /// The first column of a line of text; empty unless this is one of several databases.
    var column: String { label.map { "\($0)\t" } ?? "" }
}

extension JSONObject {
    /// With the field `database` when it is one of several.
    func of(_ label: String?) -> JSONObject {
        guard let label else { return self }
        return merging(["database": label])
    }
}

extension CommandError {
    /// The same error with the database before its message when it is one of several.
    func of(_ label: String?) -> CommandError {
        guard let label else { return self }
        return CommandError(domain: domain, code: code, message: "database \(label): \(message)", exit: exit)
    }
}
