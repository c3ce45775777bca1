import Reports
import Terminal

/// One operation of the API, which docs/openapi.json describes.
struct DashboardRoute: Sendable {
    let method: String
    /// Below `/api/v1/`; the part `{id}` is a whole number.
    let path: String
    /// The field of the body that names what a change is about; nil where the path names it, or a filter.
    var field: String?
    /// How long an answer is kept.
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

    /// The name of a change in the record of actions, `batches/pause`.
    var verb: String { path.replacing("{id}/", with: "") }

    /// The target of a change: the number in the path, or the first field of the body; a URL without its password and
    /// signature.
    func target(of call: DashboardCall) throws(CommandError) -> String {
        guard call.number == 0 else { return "\(call.number)" }
        guard let field else { return try call.filterText }
        let text = try call.text(field)
        return field == "url" ? ShownURL.masked(text) : text
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
