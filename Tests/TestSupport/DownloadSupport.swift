import Concurrency
package import Downloader
import Foundation
import Glibc
import ImageModel

/// An anonymous file for the body of a download.
package final class BodyFile: Sendable {
    /// For bodies that no test reads.
    package static let sink = BodyFile()

    package let descriptor: Int32

    package init() {
        var template = Array("\(NSTemporaryDirectory())/larder-body-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        unlink(template)
    }

    deinit { close(descriptor) }

    package var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes[..<max(0, count)])
    }
}

/// A resolver with fixed answers: for each name they are returned in order, the last one from then on.
package final class StubResolver: NameResolving {
    private let answers: Locked<[String: [[String]]]>
    private let asked = Locked<[String]>([])

    package init(_ answers: [String: [[String]]]) { self.answers = Locked(answers) }

    package var lookups: [String] { asked.withLock { $0 } }

    package func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress] {
        asked.withLock { $0.append(host) }
        let answer: [String]? = answers.withLock { answers in
            guard var all = answers[host] else { return nil }
            let answer = all.count > 1 ? all.removeFirst() : all[0]
            answers[host] = all
            return answer
        }
        guard let answer else { throw .notFound }
        return answer.compactMap { IPAddress($0) }
    }
}

/// A policy that allows 127.0.0.1 and the ports of the given servers.
package func loopback(_ ports: UInt16..., addresses: [String] = ["127.0.0.1"]) -> AddressPolicy {
    AddressPolicy(allowedAddresses: addresses.compactMap { CIDR($0) }, allowedPorts: Set(ports))
}

/// The default limits with a change.
package func limits(_ change: (inout FetchLimits) -> Void) -> FetchLimits {
    var limits = FetchLimits()
    change(&limits)
    return limits
}

/// Limits that a busy machine does not reach, for downloads that a test delays.
package let longLimits = limits {
    $0.connect = .seconds(300)
    $0.idle = .seconds(300)
    $0.total = .seconds(300)
}

extension ImageDownloader {
    /// A downloader for tests of one server.
    package convenience init(
        for server: OriginServer, limits: FetchLimits = FetchLimits(), resolver: any NameResolving = StubResolver([:])
    ) {
        self.init(FetchConfiguration(policy: loopback(server.port), limits: limits), resolver: resolver)
    }

    /// Downloads into a file without sharing.
    package func fetch(
        _ url: String, into file: BodyFile = BodyFile(), limits: FetchLimits? = nil, policy: AddressPolicy? = nil,
        accepts: (@Sendable (UnsafeRawBufferPointer) -> Bool?)? = nil
    ) async throws(FetchError) -> FetchResponse {
        var request = FetchRequest(url)
        request.limits = limits
        request.policy = policy
        request.mayShare = false
        if let accepts { request.inspects = verdict(accepts) }
        return try await fetch(request, into: file)
    }

    package func fetch(
        _ request: FetchRequest, into file: BodyFile = .sink
    ) async throws(FetchError) -> FetchResponse {
        try await fetch(request, into: file.descriptor)
    }

    /// The error of a download that must fail.
    package func failure(
        _ url: String, into file: BodyFile = BodyFile(), limits: FetchLimits? = nil, policy: AddressPolicy? = nil,
        accepts: (@Sendable (UnsafeRawBufferPointer) -> Bool?)? = nil
    ) async -> FetchError? {
        do throws(FetchError) {
            _ = try await fetch(url, into: file, limits: limits, policy: policy, accepts: accepts)
            return nil
        } catch {
            return error
        }
    }
}

/// An inspection that recognises images only: nil for too few bytes.
package func verdict(
    _ isImage: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool?
) -> @Sendable (UnsafeRawBufferPointer) -> PrefixVerdict {
    { bytes in
        switch isImage(bytes) {
        case true?: .accepted
        case false?: .refused(.badImageData, "the body is not an image of an accepted format")
        case nil: .unrecognised
        }
    }
}

extension FetchError {
    /// `NSURLErrorDomain -1001`.
    package var row: String { "\(domain) \(domainCode)" }
}

/// Reproducible pseudo-random bytes.
package func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state >> 24)
    }
}

package func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = SHA256Digest()
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.finish()
}
