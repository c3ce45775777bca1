/// Looks every few milliseconds until a condition holds; false when the test's time is over before.
public func reached(_ condition: () async -> Bool) async -> Bool {
    while await !condition() {
        do { try await Task.sleep(for: .milliseconds(5)) } catch { return false }
    }
    return true
}
