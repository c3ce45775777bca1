internal import Downloader
private import Glibc

/// Sends signed requests to a bucket and retries them if that may help, up to the configured concurrency.
///
/// The server is the operator's choice, so the address policy of downloads does not apply to it. The downloader's
/// per-origin limits are the circuit breaker: after ten consecutive failures requests wait until a single one succeeds,
/// and 503 lowers the concurrency.
package final class ObjectClient: Sendable {
    /// The settings of a client.
    package struct Configuration: Sendable {
        /// Concurrent requests, `32`.
        package var transfers = 32
        /// How long the server may be silent, `15 s`.
        package var idle = Duration.seconds(15)
        package var retries = RetrySchedule()
        /// How long requests wait while the circuit is open, `20 s`.
        package var maxWait = Duration.seconds(20)
        /// A PEM file of certificate authorities, nil for the system's.
        package var authorities: String?
        package var userAgent = FetchConfiguration.userAgent()

        /// The defaults.
        package init() {}
    }

    /// A response's head, and its body if there is no file.
    struct Response: Sendable {
        let headers: [HeaderField]
        let body: [UInt8]
    }

    package let bucket: BucketAddress
    private let downloader: ImageDownloader
    private let credentials: CredentialCache
    private let retries: RetrySchedule
    private let limits: FetchLimits
    private static let longestError = 64 << 10
    /// Statuses explained only in the body: credentials, clock, signature or region.
    private static let unexplained = [400, 401, 403]

    /// A client with its own network thread.
    package init(
        _ bucket: BucketAddress, credentials: CredentialCache, configuration: Configuration = Configuration()
    ) {
        self.bucket = bucket
        self.credentials = credentials
        retries = configuration.retries
        var limits = FetchLimits()
        limits.idle = configuration.idle
        limits.total = .seconds(600)
        limits.body = .max
        self.limits = limits
        var fetching = FetchConfiguration(
            policy: AddressPolicy(
                allowedAddresses: ["0.0.0.0/0", "::/0"].compactMap { CIDR($0) }, allowedPorts: [bucket.endpoint.port]),
            limits: limits, userAgent: configuration.userAgent)
        fetching.transfers = configuration.transfers
        fetching.transfersPerOrigin = configuration.transfers
        fetching.streamsPerOrigin = configuration.transfers
        fetching.authorities = configuration.authorities
        fetching.origins.open = .seconds(2)
        fetching.origins.maxWait = configuration.maxWait
        downloader = ImageDownloader(fetching)
    }

    /// Sends a request until it succeeds or a retry is pointless.
    ///
    /// - Parameter file: receives a successful response's body from its beginning; its length is then the body's.
    /// - Throws: the last try's `ObjectStoreError`; `withdrawn` if the request is no longer permitted.
    func send(_ request: ObjectRequest, into file: Int32? = nil) async throws(ObjectStoreError) -> Response {
        var attempt = 1
        var isRenewed = false
        while true {
            let key = try await credentials.key()
            guard await request.isPermitted() else {
                throw ObjectStoreError(.withdrawn, "the request is not permitted any more")
            }
            do throws(ObjectStoreError) {
                return try await sendOnce(request, key, into: file)
            } catch {
                let reason = await reason(of: error, request, key)
                if reason.code == .badCredentials, !isRenewed {
                    // They may have been replaced in their file, or have expired early.
                    isRenewed = true
                    credentials.invalidate(key)
                    if try await credentials.key() != key { continue }
                }
                guard let pause = retries.pause(after: attempt, reason, fraction: Double.random(in: 0...1)) else {
                    throw reason
                }
                attempt += 1
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// HEAD errors have no body. Repeats the request as a one-byte GET to read the error code; keeps the original error
    /// if that succeeds.
    private func reason(
        of failure: ObjectStoreError, _ request: ObjectRequest, _ key: AccessKey
    ) async -> ObjectStoreError {
        guard request.method == "HEAD", let status = failure.status, Self.unexplained.contains(status) else {
            return failure
        }
        var question = request
        question.method = "GET"
        question.headers.append(HeaderField("Range", "bytes=0-0"))
        question.longestResponse = Int64(Self.longestError)
        do throws(ObjectStoreError) {
            _ = try await sendOnce(question, key, into: nil)
            return failure
        } catch {
            // 416 also accepts the request: the object is empty.
            let isAnswer = error.status.map { Self.unexplained.contains($0) || $0 == 404 } ?? false
            return isAnswer || error.isTransient ? error : failure
        }
    }

    private func sendOnce(
        _ request: ObjectRequest, _ key: AccessKey, into file: Int32?
    ) async throws(ObjectStoreError) -> Response {
        guard var signed = request.signed(by: key, for: bucket, at: time(nil)) else {
            throw ObjectStoreError(.localFault, "no memory to sign a request")
        }
        let response: FetchResponse
        let body: [UInt8]
        do throws(FetchError) {
            if let file {
                try Self.empty(file)
                response = try await downloader.call(signed, into: file)
                body = Self.isSuccess(response) ? [] : Self.beginning(of: file)
            } else {
                var limits = limits
                // The head of an object has its length, but no body.
                if request.method != "HEAD" { limits.body = request.longestResponse }
                signed.limits = limits
                let answer = try MemoryFile(name: "response")
                response = try await downloader.call(signed, into: answer.descriptor)
                body = answer.prefix(response.bytes)
            }
        } catch {
            throw ObjectStoreError(error)
        }
        guard Self.isSuccess(response) else { throw ObjectStoreError(status: response.status ?? 0, body: body) }
        // As if the server had delayed the status.
        if request.mayFailLate, XMLNode(body)?.name == "Error" { throw ObjectStoreError(status: 500, body: body) }
        return Response(headers: response.headers, body: body)
    }

    private static func isSuccess(_ response: FetchResponse) -> Bool {
        (200..<300).contains(response.status ?? 0)
    }

    private static func empty(_ file: Int32) throws(FetchError) {
        guard ftruncate(file, 0) == 0, lseek(file, 0, SEEK_SET) == 0 else {
            throw FetchError(.writeFailed, "cannot empty the file of a response: \(String(cString: strerror(errno)))")
        }
    }

    private static func beginning(of file: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: longestError) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, buffer.count, 0))
        }
    }
}

/// When a request to an object store is retried.
package struct RetrySchedule: Sendable, Hashable {
    /// Total requests, `5`.
    package var attempts = 5
    /// Upper bound of the first pause, `100 ms`; it doubles with each further one.
    package var first = Duration.milliseconds(100)
    /// Maximum pause, `5 s`.
    package var longest = Duration.seconds(5)

    /// The defaults.
    package init() {}

    /// The pause before the next request; nil if there is none.
    ///
    /// - Parameters:
    ///   - attempt: requests sent so far, from 1.
    ///   - fraction: a random number from 0 to 1 that spreads the pauses of many clients.
    package func pause(after attempt: Int, _ error: ObjectStoreError, fraction: Double) -> Duration? {
        guard error.isTransient, attempt < attempts else { return nil }
        return min(longest, first * (1 << min(attempt - 1, 20))) * fraction
    }
}
