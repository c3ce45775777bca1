private import CCurl
private import Glibc

/// The certificate authorities file used to verify https origins.
public struct CertificateAuthorities: Sendable, Equatable {
    private static let maximumBytes = 16 << 20

    /// Its path.
    public let path: String
    /// The number of its certificates, at least 1.
    public let count: Int

    /// libcurl's default path; nil if it was built without one.
    public static var systemPath: String? {
        curl_version_info(CURLVERSION_SEVENTH)?.pointee.cainfo.map { String(cString: $0) }
    }

    /// Reads a PEM file.
    ///
    /// - Throws: `localFault` if it is unreadable or has no certificate.
    public init(path: String) throws(FetchError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.fault(path, "cannot be read: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
        var length = 0
        while length < bytes.count {
            let part = bytes.withUnsafeMutableBytes { rest in
                rest.baseAddress.map { read(descriptor, $0 + length, rest.count - length) } ?? 0
            }
            if part < 0 && errno == EINTR { continue }
            guard part >= 0 else { throw Self.fault(path, "cannot be read: \(String(cString: strerror(errno)))") }
            if part == 0 { break }
            length += part
        }
        count =
            String(decoding: bytes.prefix(length), as: UTF8.self).split(
                separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false
            ).count - 1
        self.path = path
        if count < 1 { throw Self.fault(path, "has no certificate") }
    }

    private static func fault(_ path: String, _ reason: String) -> FetchError {
        FetchError(.localFault, "the file of certificate authorities \(path) \(reason)")
    }
}
