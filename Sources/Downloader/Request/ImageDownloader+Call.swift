extension ImageDownloader {
    /// Calls an HTTP service: any method and status, no redirect, no `robots.txt`.
    ///
    /// Shares the threads, connections, limits and address policy of downloads.
    ///
    /// - Parameter file: receives the body, for any status, from its current position.
    /// - Throws: `FetchError`, but not for a status.
    package func call(_ request: FetchRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        var request = request
        request.isServiceCall = true
        request.acceptsEmptyBody = true
        request.mayShare = false
        request.rules.statuses = nil
        return try await follow(request, into: file) { _ in }
    }

    /// Posts a body under the address policy of downloads and returns the status.
    ///
    /// Follows no redirect, reads no `robots.txt`, and drops the response body, which may have up to 64 KiB. The whole
    /// request may take 15 s.
    ///
    /// - Throws: `FetchError`; `badStatus` for a status outside 200…299.
    package func post(
        _ body: [UInt8], to url: String, headers: [HeaderField]
    ) async throws(FetchError) -> Int {
        var limits = configuration.limits
        limits.body = 64 << 10
        limits.total = .seconds(15)
        limits.redirects = 0
        var request = FetchRequest(url)
        request.method = "POST"
        request.body = body
        request.headers = headers
        request.limits = limits
        request.acceptsEmptyBody = true
        let answer = try MemoryFile(name: "webhook")
        return try await follow(request, into: answer.descriptor) { _ in }.status ?? 0
    }
}
