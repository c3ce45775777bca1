import Concurrency
import EmbeddedPostgres
import JobQueue
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EmbeddedDatabaseTests {
    @Test func `every test gets its own copy of a template that is prepared once`() async throws {
        let prepared = Locked(0)
        let made = try await withThrowingTaskGroup(of: TemporaryDatabase.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await TemporaryDatabase.make(template: "copies") { url in
                        prepared.withLock { $0 += 1 }
                        try AdminSession(url).execute("CREATE TABLE images AS SELECT 7 AS edge")
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(prepared.withLock { $0 } == 1)
        #expect(Set(made.map(\.url)).count == 3)
        for database in made {
            let session = try AdminSession(database.url)
            let edge = try session.execute("UPDATE images SET edge = edge + 1 RETURNING edge")
            #expect(edge == "8")
        }
    }

    @Test func `an empty database is empty, in UTF-8 and in the C locale`() async throws {
        let database = try await TemporaryDatabase.make()
        let session = try AdminSession(database.url)
        let tables = try session.execute("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'")
        #expect(tables == "0")
        let kind = try session.execute(
            "SELECT pg_encoding_to_char(encoding) || ' ' || datcollate FROM pg_database WHERE datname = current_database()"
        )
        #expect(kind == "UTF8 C")
    }
}
