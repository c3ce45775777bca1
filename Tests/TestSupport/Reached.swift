/// Whether a condition becomes true within `limit`: the one place where tests poll.
///
/// For states of the kernel, of other processes and of the database that cannot be waited for. The limit only ends a
/// test that fails; a passing test takes as long as the condition does.
public func reached(
    within limit: Duration = .seconds(120), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(5))) != nil else {
            return false
        }
    }
    return true
}
