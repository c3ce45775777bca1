package import Downloader
private import FoundationEssentials
private import ImageModel

/// Whether a write is still allowed; called immediately before each try.
package typealias WritePermission = @Sendable () async -> Bool

/// The condition of a write.
package enum WriteCondition: Sendable, Hashable {
    case none
    /// There is no object of this name (`If-None-Match: *`).
    case absent
    /// The object has this ETag (`If-Match`).
    case unchanged(String)

    var headers: [HeaderField] {
        switch self {
        case .none: []
        case .absent: [HeaderField("If-None-Match", "*")]
        case .unchanged(let etag): [HeaderField("If-Match", etag)]
        }
    }
}

/// The head of an object.
package struct ObjectHead: Sendable {
    /// In bytes.
    package let size: Int
    /// As sent by the server, with quotes.
    package let etag: String
    /// User metadata, with lower-case names without `x-amz-meta-`.
    package let metadata: [String: String]

    init(_ headers: [HeaderField]) {
        size = headers["Content-Length"].flatMap { Int($0) } ?? 0
        etag = headers["ETag"] ?? ""
        let prefix = "x-amz-meta-"
        metadata = headers.reduce(into: [:]) { found, header in
            let name = header.name.lowercased()
            if name.hasPrefix(prefix) { found[String(name.dropFirst(prefix.count))] = header.value }
        }
    }
}

extension ObjectClient {
    /// Stores a part of a file as an object, atomically; the server checks its digest.
    ///
    /// - Parameters:
    ///   - sha256: of the part, 64 hexadecimal digits.
    ///   - headers: content type, metadata and the like.
    ///   - isPermitted: called immediately before each try; always true by default.
    /// - Returns: the object's ETag.
    /// - Throws: `ObjectStoreError`; `preconditionFailed` if the condition does not hold, `unsupported` if the server
    ///   offers no such condition, `withdrawn` if `isPermitted` returned false.
    @discardableResult
    package func put(
        _ part: UploadedPart, sha256: String, as key: String, headers: [HeaderField] = [],
        if condition: WriteCondition = .none, permitted isPermitted: @escaping WritePermission = { true }
    ) async throws(ObjectStoreError) -> String {
        var request = ObjectRequest(method: "PUT", key: key)
        request.headers = headers + condition.headers
        if let digest = Self.base64(hexadecimal: sha256) {
            request.headers.append(HeaderField("x-amz-checksum-sha256", digest))
        }
        request.body = .part(part, sha256: sha256)
        request.isPermitted = isPermitted
        return try await send(request).headers["ETag"] ?? ""
    }

    /// Writes an object to the beginning of a file; nil if it does not exist.
    package func get(_ key: String, into file: Int32) async throws(ObjectStoreError) -> ObjectHead? {
        try await existing { () throws(ObjectStoreError) in
            ObjectHead(try await send(ObjectRequest(method: "GET", key: key), into: file).headers)
        }
    }

    package func head(_ key: String) async throws(ObjectStoreError) -> ObjectHead? {
        try await existing { () throws(ObjectStoreError) in
            ObjectHead(try await send(ObjectRequest(method: "HEAD", key: key)).headers)
        }
    }

    /// Deletes an object; a missing object is no error.
    package func delete(_ key: String) async throws(ObjectStoreError) {
        _ = try await existing { () throws(ObjectStoreError) in
            try await send(ObjectRequest(method: "DELETE", key: key))
        }
    }

    /// Deletes up to 1,000 objects with one request.
    ///
    /// - Throws: `ObjectStoreError`, also if the server did not delete one of them.
    package func delete(all keys: [String]) async throws(ObjectStoreError) {
        let objects = keys.map { "<Object><Key>\(Self.escaped($0))</Key></Object>" }.joined()
        let body = Array(
            "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(objects)<Quiet>true</Quiet></Delete>".utf8)
        var request = ObjectRequest(method: "POST", query: [("delete", "")])
        // Required by servers older than the checksum headers.
        request.headers = [
            HeaderField("Content-MD5", Data(MD5Digest.of(body)).base64EncodedString()),
            HeaderField("Content-Type", "application/xml"),
        ]
        request.body = .bytes(body)
        let answer = XMLNode(try await send(request).body)
        if let failed = answer?.all("Error").first(where: { $0["Code"]?.text != "NoSuchKey" }) {
            let reason = [failed["Code"]?.text, failed["Message"]?.text].compactMap { $0 }.joined(separator: ": ")
            throw ObjectStoreError(.refused, "\(failed["Key"]?.text ?? "an object") was not deleted: \(reason)")
        }
    }

    private func existing<Value>(
        _ body: () async throws(ObjectStoreError) -> Value
    ) async throws(ObjectStoreError) -> Value? {
        do throws(ObjectStoreError) {
            return try await body()
        } catch {
            guard error.code == .noObject else { throw error }
            return nil
        }
    }

    static func base64(hexadecimal text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return Data(bytes).base64EncodedString()
    }

    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
    }
}
