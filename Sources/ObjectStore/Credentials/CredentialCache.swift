private import Concurrency
private import Downloader
private import FoundationEssentials
private import Glibc
private import ImageModel

/// A source's current credentials: requested once for all callers, and again five minutes before they expire.
package final class CredentialCache: Sendable {
    /// In seconds.
    private static let margin = 300
    /// Seconds that a file's credentials without expiration are used.
    private static let fileLifetime = 60
    private static let maximumBytes = 64 << 10

    private struct Held: Sendable {
        let key: AccessKey
        /// Seconds since 1970 from which new ones are requested; nil for never.
        let renewal: Int?
    }

    private let source: CredentialSource
    private let held = Locked<Held?>(nil)
    private let flights = SingleFlight<Int, Result<AccessKey, ObjectStoreError>>()
    private let files = ThreadPool(name: "credentials", threads: 1)
    private let clock: @Sendable () -> Int
    /// Reaches only the address of the service that issues the credentials.
    private let downloader: ImageDownloader?

    /// - Parameter clock: seconds since 1970; the host's by default.
    package init(_ source: CredentialSource, clock: @escaping @Sendable () -> Int = { time(nil) }) {
        self.source = source
        self.clock = clock
        downloader = Self.policy(for: source).map { policy in
            var limits = FetchLimits()
            limits.body = Int64(Self.maximumBytes)
            limits.total = .seconds(10)
            return ImageDownloader(FetchConfiguration(policy: policy, limits: limits))
        }
    }

    /// Valid credentials.
    ///
    /// - Throws: this machine's own fault: `badCredentials`, `noCredentials` or `localFault`, naming the file or
    ///   service; `unreachable` if the task was cancelled. If the current ones have not expired, returns them instead
    ///   of failing.
    package func key() async throws(ObjectStoreError) -> AccessKey {
        let now = clock()
        let found = held.withLock { $0 }
        if let found, found.renewal.map({ now < $0 }) ?? true { return found.key }
        let result = await flights.run(0) { await self.renew(at: now) }
        switch result {
        case .success(let key)?: return key
        case .failure(let error)?:
            if let found, let end = found.key.expiration, now < end { return found.key }
            throw error
        case nil: throw ObjectStoreError(.unreachable, "cancelled")
        }
    }

    /// The server rejects these credentials: the next call requests new ones.
    package func invalidate(_ key: AccessKey) {
        held.withLock { if $0?.key == key { $0 = nil } }
    }

    private func renew(at now: Int) async -> Result<AccessKey, ObjectStoreError> {
        do throws(ObjectStoreError) {
            let key = try await request()
            let renewal = key.expiration.map { max(now + 1, $0 - Self.margin) }
            held.withLock { $0 = Held(key: key, renewal: renewal ?? (isFile ? now + Self.fileLifetime : nil)) }
            return .success(key)
        } catch {
            return .failure(error)
        }
    }

    private var isFile: Bool { if case .file = source { true } else { false } }

    private func request() async throws(ObjectStoreError) -> AccessKey {
        switch source {
        case .fixed(let key): return key
        case .file(let path, let profile):
            return try SharedCredentials.key(of: profile, in: try await text(of: path), path: path)
        case .container(let url, let token, let tokenFile):
            var request = FetchRequest(url)
            var authorization = token
            if let tokenFile { authorization = try await line(of: tokenFile) }
            if let authorization { request.headers = [HeaderField("Authorization", authorization)] }
            return try CredentialAnswer.container(try await send(request))
        case .webIdentity(let tokenFile, let role, let session, let endpoint):
            var request = FetchRequest(endpoint + "/")
            request.method = "POST"
            let form = [
                ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
                ("RoleSessionName", session), ("WebIdentityToken", try await line(of: tokenFile)),
            ]
            request.body = Array(form.map { "\($0)=\(URIEscape.query($1))" }.joined(separator: "&").utf8)
            request.headers = [HeaderField("Content-Type", "application/x-www-form-urlencoded")]
            return try CredentialAnswer.webIdentity(try await send(request))
        }
    }

    private func send(_ request: FetchRequest) async throws(ObjectStoreError) -> [UInt8] {
        guard let downloader else { throw ObjectStoreError(.badCredentials, "the source has no address") }
        let status: Int
        let body: [UInt8]
        do throws(FetchError) {
            let answer = try MemoryFile(name: "credentials")
            status = try await downloader.call(request, into: answer.descriptor).status ?? 0
            body = answer.prefix(Self.maximumBytes)
        } catch {
            let code: ObjectStoreError.Code =
                switch error.code {
                case .localFault: .localFault
                case .cancelled: .unreachable
                default: .noCredentials
                }
            throw ObjectStoreError(code, "\(source.service): \(error.message)")
        }
        guard (200..<300).contains(status) else {
            let reason = ObjectStoreError(status: status, body: body).message
            throw ObjectStoreError(
                (400..<500).contains(status) ? .badCredentials : .noCredentials,
                "\(source.service): \(request.url): \(reason)")
        }
        return body
    }

    private func line(of path: String) async throws(ObjectStoreError) -> String {
        String(try await text(of: path).split(whereSeparator: \.isNewline).first ?? "")
    }

    /// Reads a small file on a separate thread.
    private func text(of path: String) async throws(ObjectStoreError) -> String {
        try await files.run { () throws(ObjectStoreError) in
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                let reason = String(cString: strerror(errno))
                throw ObjectStoreError(.badCredentials, "cannot read credentials from \(path): \(reason)")
            }
            defer { close(descriptor) }
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
                count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Allows only the service's address and port. A container's endpoint without TLS must have one of the addresses of
    /// ECS and EKS, or be on this host.
    private static func policy(for source: CredentialSource) -> AddressPolicy? {
        switch source {
        case .fixed, .file: nil
        case .container(let url, _, _):
            AddressPolicy(
                allowedAddresses: ["169.254.170.2", "169.254.170.23", "fd00:ec2::23", "127.0.0.0/8", "::1"]
                    .compactMap { CIDR($0) },
                allowedPorts: port(of: url))
        case .webIdentity(_, _, _, let endpoint):
            // The operator's choice, like the store's endpoint.
            AddressPolicy(
                allowedAddresses: ["0.0.0.0/0", "::/0"].compactMap { CIDR($0) }, allowedPorts: port(of: endpoint))
        }
    }

    private static func port(of url: String) -> Set<UInt16> {
        do throws(FetchError) { return [try Origin(of: url).port] } catch { return [] }
    }
}

/// Parses the responses of services that issue temporary credentials.
package enum CredentialAnswer {
    /// The JSON of a container's endpoint.
    ///
    /// - Throws: `badCredentials` for anything else.
    package static func container(_ body: [UInt8]) throws(ObjectStoreError) -> AccessKey {
        guard case .object(let fields)? = try? JSONValue.parse(body),
            case .string(let id)? = fields["AccessKeyId"], case .string(let secret)? = fields["SecretAccessKey"]
        else { throw ObjectStoreError(.badCredentials, "the container's credentials endpoint returned no keys") }
        func text(_ name: String) -> String? { if case .string(let text)? = fields[name] { text } else { nil } }
        return AccessKey(
            id: id, secret: secret, sessionToken: text("Token"), expiration: text("Expiration").flatMap(seconds))
    }

    /// The XML of `AssumeRoleWithWebIdentity`.
    ///
    /// - Throws: `badCredentials` for anything else.
    package static func webIdentity(_ body: [UInt8]) throws(ObjectStoreError) -> AccessKey {
        let keys = XMLNode(body)?["AssumeRoleWithWebIdentityResult"]?["Credentials"]
        guard let keys, let id = keys["AccessKeyId"]?.text, let secret = keys["SecretAccessKey"]?.text else {
            throw ObjectStoreError(.badCredentials, "the security token service returned no keys")
        }
        return AccessKey(
            id: id, secret: secret, sessionToken: keys["SessionToken"]?.text,
            expiration: keys["Expiration"].flatMap { seconds($0.text) })
    }

    /// Parses `2026-11-25T01:02:03Z`, with or without a fraction, to seconds since 1970.
    package static func seconds(_ text: String) -> Int? {
        let date = try? Date(String(text.prefix(19)) + "Z", strategy: .iso8601)
        return date.map { Int($0.timeIntervalSince1970) }
    }
}

/// The shared credentials file: sections `[profile]` with lines `name = value`.
package enum SharedCredentials {
    /// A profile's credentials.
    ///
    /// - Throws: `badCredentials` if the file lacks the profile, or the profile a key.
    package static func key(
        of profile: String, in text: String, path: String
    ) throws(ObjectStoreError) -> AccessKey {
        var isInside = false
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                isInside = trimmed(line[line.index(after: line.startIndex)..<end]) == profile
            } else if isInside, let equals = line.firstIndex(of: "=") {
                values[trimmed(line[..<equals]).lowercased()] = trimmed(line[line.index(after: equals)...])
            }
        }
        guard let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else {
            throw ObjectStoreError(.badCredentials, "\(path) has no keys for the profile '\(profile)'")
        }
        return AccessKey(id: id, secret: secret, sessionToken: values["aws_session_token"])
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        let end = text.lastIndex { !isSpace($0) }
        return end.map { String(text[...$0].drop(while: isSpace)) } ?? ""
    }
}
