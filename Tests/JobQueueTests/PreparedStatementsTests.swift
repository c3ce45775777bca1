import Testing

@testable import JobQueue

/// Which statements a session asks the server to keep.
@Suite(.timeLimit(.minutes(1)))
struct PreparedStatementsTests {
    @Test func `statements of one length are kept under names of their own, again after a migration`() throws {
        var statements = PreparedStatements()
        let texts = (0..<9).map { "SELECT \($0)" }
        var names: Set<String> = []
        for round in 1...2 {
            for text in texts { #expect(statements.plan(for: text) == .plain) }
            for text in texts {
                guard case .prepare(let name) = statements.plan(for: text) else {
                    Issue.record("the second time it is prepared")
                    continue
                }
                names.insert(name)
                statements.keeps(text, as: name)
                #expect(statements.plan(for: text) == .prepared(name))
            }
            #expect(names.count == 9 * round)
            let isSentAgain = statements.isRefused(
                QueueError(.unexpectedAnswer, "its answer has changed", sqlState: "0A000"))
            #expect(isSentAgain)
        }
    }

    @Test func `behind a pooler that lends another server session statements are sent as text from then on`() {
        var statements = PreparedStatements()
        #expect(statements.plan(for: "SELECT 1") == .plain)
        let isSentAgain = statements.isRefused(
            QueueError(.unexpectedAnswer, "no such statement", sqlState: "26000"))
        #expect(isSentAgain)
        for _ in 0..<3 { #expect(statements.plan(for: "SELECT 1") == .plain) }
        let isWrong = statements.isRefused(QueueError(.unexpectedAnswer, "wrong", sqlState: "22023"))
        #expect(!isWrong)
    }
}
