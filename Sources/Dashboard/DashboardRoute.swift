import Reports
import Terminal

/// An operation of the API, described in docs/openapi.json.
struct DashboardRoute: Sendable {
    let method: String
    /// Below `/api/v1/`; the part `{id}` is a whole number.
    let path: String
    /// The body field that names a change's target; nil if the path or a filter names it.
    var field: String?
    /// How long an answer is cached.
    var lasting = Duration.seconds(1)
    let run: @Sendable (DashboardCall) async throws -> JSONObject

    static func get(
        _ path: String, lasting: Duration = .seconds(1),
        _ run: @escaping @Sendable (DashboardCall) async throws -> JSONObject
    ) -> DashboardRoute {
        DashboardRoute(method: "GET", path: path, lasting: lasting, run: run)
    }

    static func post(
        _ path: String, _ field: String? = nil,
        _ run: @escaping @Sendable (DashboardCall) async throws -> JSONObject
    ) -> DashboardRoute {
        DashboardRoute(method: "POST", path: path, field: field, run: run)
    }

    /// A change's name in the record of actions, such as `batches/pause`.
    var verb: String { path.replacing("{id}/", with: "") }

    /// A change's target: the number in the path, or the first body field; a URL without password and signature.
    func target(of call: DashboardCall) throws(CommandError) -> String {
        guard call.number == 0 else { return "\(call.number)" }
        guard let field else { return try call.filterText }
        let text = try call.text(field)
        return field == "url" ? ShownURL.masked(text) : text
    }

    /// The number in `path` if it is this route's, 0 for a route without number; nil for another path.
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
