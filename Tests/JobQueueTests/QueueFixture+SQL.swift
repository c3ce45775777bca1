import Testing

@testable import JobQueue

/// The queue as a program in another language uses it: by SQL alone.
extension QueueFixture {
    /// Workers and maintenance refuse other levels, and the database of the tests may have one.
    func useReadCommitted() async throws { try await sql("SET default_transaction_isolation = 'read committed'") }

    /// Starts a worker and gives its id.
    func workerBySQL(_ name: String = "w") async throws -> String {
        try await useReadCommitted()
        return try #require(
            try await value("SELECT worker_id FROM larder.worker_start_v1('\(name)', 'test', 1, 'test', 8)"))
    }

    /// Claims jobs and gives their ids.
    func claimBySQL(_ worker: String, _ claim: Int, upTo most: Int = 10) async throws -> [String] {
        try await sql("SELECT job_id FROM larder.claim_v1(\(worker), \(claim), \(most))").compactMap { $0[0] }
    }

    /// Completes jobs of one claim, each with the same fields, and gives the decisions.
    func completeBySQL(
        _ worker: String, _ claim: Int, _ jobs: [String], _ fields: String = #""result": "succeeded""#
    ) async throws -> [String] {
        let results = jobs.map { #"{"job": \#($0), "claim": \#(claim), \#(fields)}"# }.joined(separator: ", ")
        return try await sql("SELECT decision FROM larder.complete_v1(\(worker), $1::json)", [.text("[\(results)]")])
            .compactMap { $0[0] }
    }

    /// Enqueues by one call, given without its schema, and gives the answers.
    func answers(of call: String) async throws -> [String] {
        try await sql("SELECT answer FROM larder.\(call)").compactMap { $0[0] }
    }

    /// The SQLSTATE with which a statement fails; nil if it succeeds.
    func refusal(of statement: String, _ parameters: [Parameter] = []) async throws -> String? {
        do {
            try await sql(statement, parameters)
            return nil
        } catch let error as QueueError { return error.sqlState }
    }

    /// The same of another role's call.
    func refusal(of statement: String, as role: String) async throws -> String? {
        try await sql("BEGIN ISOLATION LEVEL READ COMMITTED")
        try await sql("SET LOCAL ROLE \(role)")
        let refusal = try await refusal(of: statement)
        try await sql(refusal == nil ? "COMMIT" : "ROLLBACK")
        return refusal
    }

    /// Nothing that a caller sent stops the others: no task fails, each view answers, and the invariants hold.
    func expectServing(_ location: SourceLocation = #_sourceLocation) async throws {
        try await useReadCommitted()
        let failing = try await sql("SELECT task, error FROM larder.maintain(true) WHERE error IS NOT NULL")
        #expect(failing.isEmpty, "\(failing)", sourceLocation: location)
        // Without it the views of history compile code for each of their partitions.
        try await sql("SET jit = off")
        for view in try await sql("SELECT viewname FROM pg_views WHERE schemaname = 'larder'") {
            let refused = try await refusal(of: "SELECT * FROM larder.\(view[0] ?? "")")
            #expect(refused == nil, "\(view)", sourceLocation: location)
        }
        let broken = try await sql("SELECT * FROM larder.check()")
        #expect(broken.isEmpty, "\(broken)", sourceLocation: location)
        #expect(try await value("SELECT count(*) FROM larder_data.batch_fault") == "0", sourceLocation: location)
    }
}
