extension ImageDownloader {
    /// Sends a body with POST under the address policy of downloads, and returns the status of the response.
    ///
    /// No redirect is followed, `robots.txt` is not read, and the body of the response is dropped; it may be empty and
    /// have 64 KiB. The whole request may take 15 s.
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
