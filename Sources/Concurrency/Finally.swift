/// Runs `body`, then `end`, and returns the result of `body`. After an error of `body`, an error of `end` is ignored.
package func finally<Value>(
    _ end: () async throws -> Void, _ body: () async throws -> Value
) async throws -> Value {
    let value: Value
    do {
        value = try await body()
    } catch {
        try? await end()
        throw error
    }
    try await end()
    return value
}
