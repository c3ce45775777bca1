extension ImageDownloader {
    /// Calls a service by HTTP: any method and any status, no redirect, no `robots.txt`.
    ///
    /// It shares the threads, connections, limits and address policy of downloads.
    ///
    /// - Parameter file: receives the body of the response, of whatever status, from its current position.
    /// - Throws: `FetchError`, not for a status.
    package func call(_ request: FetchRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        var request = request
        request.isServiceCall = true
        request.acceptsEmptyBody = true
        request.mayShare = false
        request.rules.statuses = nil
        return try await follow(request, into: file) { _ in }
    }
}
