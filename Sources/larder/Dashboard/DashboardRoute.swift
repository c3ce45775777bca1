/// One operation of the API.
struct DashboardRoute: Sendable {
    let method: String
    /// Below `/api/v1/`; the part `{id}` is a whole number.
    let path: String
    let summary: String
    /// The parameters of the query; none is required.
    var arguments: [Field] = []
    /// The fields of the body, which a change needs.
    var fields: [Field] = []
    /// How long an answer is kept.
    var lasting = Duration.seconds(1)
    /// The fields of the answer and what each contains: the name of a command in `json-output.schema.json` whose lines
    /// its items are, or a type of JSON.
    let answer: [(field: String, content: Content)]
    let run: @Sendable (DashboardCall) async throws -> JSONObject

    /// A parameter of the query, or a field of the body.
    struct Field: Sendable {
        let name: String
        /// `string` or `integer`.
        let type: String
        var isRequired = true

        /// A text.
        static func text(_ name: String) -> Field { Field(name: name, type: "string") }
        /// A text that may be left out.
        static func optionalText(_ name: String) -> Field { Field(name: name, type: "string", isRequired: false) }
        /// A whole number.
        static func number(_ name: String) -> Field { Field(name: name, type: "integer") }
        /// A whole number that may be left out.
        static func optionalNumber(_ name: String) -> Field { Field(name: name, type: "integer", isRequired: false) }
    }

    /// What a field of an answer contains.
    enum Content: Sendable {
        /// An array of the lines of this command.
        case lines(of: String)
        /// The object that this command prints.
        case line(of: String)
        /// An array of objects with these fields, by type; `string?` may be null, `string[]` is an array.
        case objects([String: String])
        /// An object with these fields.
        case object([String: String])
        /// This schema.
        case schema(@Sendable () -> JSONObject)
        /// A value of this type.
        case value(String)
    }

    static func get(
        _ path: String, _ summary: String, arguments: [Field] = [], lasting: Duration = .seconds(1),
        _ answer: [(String, Content)],
        _ run: @escaping @Sendable (DashboardCall) async throws -> JSONObject
    ) -> DashboardRoute {
        DashboardRoute(
            method: "GET", path: path, summary: summary, arguments: arguments, lasting: lasting,
            answer: answer.map { (field: $0.0, content: $0.1) }, run: run)
    }

    static func post(
        _ path: String, _ summary: String, fields: [Field] = [], _ answer: [(String, Content)],
        _ run: @escaping @Sendable (DashboardCall) async throws -> JSONObject
    ) -> DashboardRoute {
        DashboardRoute(
            method: "POST", path: path, summary: summary, fields: fields,
            answer: answer.map { (field: $0.0, content: $0.1) }, run: run)
    }

    /// The name of a change in the record of actions, `batches/pause`.
    var verb: String { path.replacing("{id}/", with: "") }

    /// What a change is about: the number in the path, or the first field of the body; a URL without its password and
    /// signature.
    func target(of call: DashboardCall) throws(CommandError) -> String {
        guard call.number == 0 else { return "\(call.number)" }
        guard let field = fields.first, field.isRequired else { return try call.filterText }
        let text = try call.text(field.name)
        return field.name == "url" ? ShownURL.masked(text) : text
    }

    /// The number in `path` where it is a path of this route, 0 for a route without one; nil for another path.
    func match(_ path: [Substring]) -> Int64? {
        let parts = self.path.split(separator: "/")
        guard parts.count == path.count else { return nil }
        var number: Int64 = 0
        for (part, given) in zip(parts, path) {
            if part == "{id}" {
                guard let value = Int64(given), value > 0 else { return nil }
                number = value
            } else if part != given {
                return nil
            }
        }
        return number
    }
}
