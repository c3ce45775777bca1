import JobQueue

/// The dashboards of a command's databases at one address: that of the only database, or each of several below
/// `/databases/N/`, and a page that joins their batches.
struct DashboardSet: Sendable {
    struct Member: Sendable {
        /// How pages name the database.
        let label: String
        let dashboard: Dashboard
    }

    /// In the order of the databases. All have the same access.
    let members: [Member]
    private let answers = DashboardAnswers()

    init(members: [Member]) { self.members = members }

    /// How long the body of a request may be.
    func longestBody(of request: HTTPRequest) -> Int {
        guard case .member(let member, let inner) = place(of: request) else { return HTTPEndpoint.longestBody }
        return member.dashboard.longestBody(of: inner)
    }

    /// The answer to a request. Errors of a database are answers, too.
    func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        switch place(of: request) {
        case .page(let number): Dashboard.protected(DashboardFile.page(of: number))
        case .member(let member, let inner): await member.dashboard.answer(inner)
        // From here on, relative addresses lead to the dashboard.
        case .moved(let name): HTTPAnswer(status: 308, headers: [("Location", name)], body: [])
        case .own: Dashboard.protected(await own(request))
        }
    }

    private enum Place {
        case own
        case member(Member, HTTPRequest)
        /// The page of a dashboard below, by number.
        case page(Int)
        case moved(to: String)
    }

    /// Whose request it is: `/databases/2/api/v1/queues` is the second dashboard's `/api/v1/queues`.
    private func place(of request: HTTPRequest) -> Place {
        guard members.count > 1 else { return members.first.map { Place.member($0, request) } ?? .own }
        let parts = request.path.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2, parts[1] == "databases", let number = Int(parts[2]),
            members.indices.contains(number - 1)
        else { return .own }
        guard parts.count > 3 else { return .moved(to: "\(number)/") }
        guard !parts[3].isEmpty || !request.isReading else { return .page(number) }
        var inner = request
        inner.path = "/" + parts[3]
        return .member(members[number - 1], inner)
    }

    private func own(_ request: HTTPRequest) async -> HTTPAnswer {
        guard request.isReading else { return .wrongMethod }
        if let file = DashboardSetPage.files[request.path] { return file }
        switch request.path {
        case "/livez": return HTTPAnswer(body: Array("alive\n".utf8))
        case "/api/v1/openapi.json": return HTTPAnswer.json(200, DashboardOpenAPI.ofSeveralDatabases)
        case "/readyz": return await readiness(request)
        case "/api/v1/batches":
            do {
                _ = try members.first?.dashboard.access.user(of: request)
                return try await answers.answer(to: request, lasting: .seconds(1)) {
                    HTTPAnswer.json(200, try await batches(request))
                }
            } catch let refusal as DashboardAccess.Refusal {
                return HTTPAnswer.failure(refusal.status, .usage(refusal.message))
            } catch {
                return HTTPAnswer.failure(Dashboard.status(of: error), CommandError(error))
            }
        default:
            return HTTPAnswer.failure(
                404, .usage("there is no \(PrintableText.text(request.path)); a database's is below /databases/N/"))
        }
    }

    /// The first answer of a dashboard that is not ready, else that all are.
    private func readiness(_ request: HTTPRequest) async -> HTTPAnswer {
        for member in members {
            let answer = await member.dashboard.answer(request)
            if answer.status != 200 { return answer }
        }
        return HTTPAnswer(body: Array("ready\n".utf8))
    }

    /// The newest batches of a database, or what kept it from answering.
    private struct Found: Sendable {
        let index: Int
        var batches: [BatchProgress] = []
        var error: String?
    }

    /// A function of its own: as the closure of a task that returned a typed `Result`, the optimised build lost batches
    /// or gave them to another database.
    private static func newest(of member: Member, _ index: Int, _ limit: Int) async -> Found {
        do {
            return Found(index: index, batches: try await member.dashboard.queue.progress(limit: limit))
        } catch {
            return Found(index: index, error: CommandError(error).message)
        }
    }

    /// The newest batches of all databases, newest first, and the databases with what kept one from answering.
    private func batches(_ request: HTTPRequest) async throws(CommandError) -> JSONObject {
        let limit = try DashboardCall.number("limit", of: request, in: 1...1_000, default: 50)
        let found = await withTaskGroup(of: Found.self) { group in
            for (index, member) in members.enumerated() {
                group.addTask { await Self.newest(of: member, index, limit) }
            }
            var unsorted: [Found] = []
            for await one in group { unsorted.append(one) }
            return unsorted.sorted { $0.index < $1.index }
        }
        var lines: [(at: String, id: Int64, json: JSONObject)] = []
        var databases: [JSONObject] = []
        for one in found {
            let own: JSONObject = ["database": members[one.index].label]
            for batch in one.batches { lines.append((batch.openedAt, batch.id, batch.json.merging(own))) }
            databases.append(own.merging(["databaseNumber": one.index + 1, "error": one.error]))
        }
        lines.sort { ($0.at, $0.id) > ($1.at, $1.id) }
        return ["batches": lines.prefix(limit).map(\.json), "databases": databases]
    }
}
