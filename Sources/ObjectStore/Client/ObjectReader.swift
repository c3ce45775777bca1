internal import Concurrency
package import Downloader
private import Glibc
internal import ImageModel

/// Downloads objects by URL, with a downloader's limits, rules and connections.
///
/// Requests only objects of the given buckets, because the credentials may permit more than the users who enqueue URLs.
/// The server is the operator's choice, so the address policy of downloads does not apply to it, and redirects are not
/// followed.
package final class ObjectReader: Sendable {
    /// Statuses for which the server is asked for the reason: a download discards the body with the error code.
    private static let explained = [301, 307, 400, 401, 403]
    private static let longestError = 64 << 10

    private let downloader: ImageDownloader
    private let limits: FetchLimits
    private let buckets: [BucketAddress]
    private let credentials: CredentialCache?

    /// - Parameters:
    ///   - limits: the downloader's.
    ///   - buckets: may be read: the objects below each prefix.
    ///   - credentials: nil if there are no buckets.
    package init(
        _ downloader: ImageDownloader, limits: FetchLimits, buckets: [BucketAddress], credentials: CredentialCache?
    ) {
        self.downloader = downloader
        self.limits = limits
        self.buckets = buckets
        self.credentials = credentials
    }

    /// Downloads `request.url`, as `ImageDownloader.fetch` does with an http URL.
    ///
    /// - Throws: `FetchError`: `addressRefused` for a bucket that is not open; `localFault`, with the bucket as its
    ///   profile, if there are no credentials or the server rejects them or this machine's clock.
    package func fetch(_ request: FetchRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        let object: ObjectURL
        do throws(ObjectStoreError) { object = try ObjectURL(request.url) } catch {
            throw FetchError(.invalidURL, error.message)
        }
        guard let credentials, let bucket = buckets.first(where: { $0.contains(object) }) else {
            throw FetchError(.addressRefused, "\(object): the bucket is refused")
                .needing([.bucket("\(object.bucketURL)")])
        }
        let key: AccessKey
        do throws(ObjectStoreError) { key = try await credentials.key() } catch {
            guard !Task.isCancelled else { throw FetchError(.cancelled, "\(object): cancelled") }
            throw Self.failure(error, object)
        }
        let signed = try signed(object, in: bucket, by: key)
        var sent = request
        sent.url = signed.url
        sent.method = "GET"
        sent.body = nil
        sent.credentials = nil
        sent.headers = signed.headers + request.headers
        sent.policy = signed.policy
        sent.limits = request.limits ?? limits
        sent.limits?.redirects = 0
        do throws(FetchError) {
            return try await downloader.fetch(sent, into: file)
        } catch {
            guard error.code == .badStatus || error.code == .tooManyRedirects,
                error.code == .tooManyRedirects || Self.explained.contains(error.httpStatus ?? 0),
                let reason = await reason(signed)
            else { throw error }
            if reason.code == .badCredentials { credentials.invalidate(key) }
            throw Self.failure(reason, object)
        }
    }

    private func signed(
        _ object: ObjectURL, in bucket: BucketAddress, by key: AccessKey
    ) throws(FetchError) -> FetchRequest {
        let request = ObjectRequest(method: "GET", key: object.key).signed(by: key, for: bucket, at: time(nil))
        guard var request else { throw FetchError(.localFault, "\(object): no memory to sign a request") }
        request.policy = AddressPolicy(
            allowedAddresses: ["0.0.0.0/0", "::/0"].compactMap { CIDR($0) }, allowedPorts: [bucket.endpoint.port])
        return request
    }

    /// Why the server refuses a request, found by repeating it for a single byte. Nil if it is accepted now.
    private func reason(_ signed: FetchRequest) async -> ObjectStoreError? {
        var request = signed
        request.headers.append(HeaderField("Range", "bytes=0-0"))
        request.limits = limits
        request.limits?.body = Int64(Self.longestError)
        do throws(FetchError) {
            let answer = try MemoryFile(name: "refusal")
            let response = try await downloader.call(request, into: answer.descriptor)
            guard let status = response.status, !(200..<300).contains(status) else { return nil }
            return ObjectStoreError(status: status, body: answer.prefix(response.bytes))
        } catch {
            return nil
        }
    }

    private static func failure(_ error: ObjectStoreError, _ object: ObjectURL) -> FetchError {
        let message = "\(object): \(error.message)"
        switch error.code {
        case .badCredentials, .noCredentials, .clockSkewed:
            return FetchError(.localFault, message, profile: String(object.bucketURL.prefix(64)))
        case .localFault: return FetchError(.localFault, message)
        case .otherRegion:
            return FetchError(
                .badStatus, message + "; --s3-region and --s3-endpoint choose the server", httpStatus: error.status)
        case .unreachable: return FetchError(.connectionLost, message)
        default: return FetchError(.badStatus, message, httpStatus: error.status)
        }
    }
}
