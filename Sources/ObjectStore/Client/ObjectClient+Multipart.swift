package import Downloader

/// A multipart upload whose parts have been sent; the object appears when it is completed.
package struct PendingUpload: Sendable {
    fileprivate let key: String
    fileprivate let id: String
    /// As XML.
    fileprivate let parts: String
}

extension ObjectClient {
    /// Sends a file in parts; a failed part is retried alone. No object appears yet.
    ///
    /// - Parameters:
    ///   - partSize: bytes of each part but the last, at least 5 MiB.
    ///   - digests: each part's SHA-256, 64 hexadecimal digits. The caller reads the file, as that blocks.
    package func putParts(
        of file: Int32, size: Int, partSize: Int, as key: String, headers: [HeaderField],
        digests: [String]
    ) async throws(ObjectStoreError) -> PendingUpload {
        var begin = ObjectRequest(method: "POST", key: key, query: [("uploads", "")])
        begin.headers = headers
        guard let id = XMLNode(try await send(begin).body)?["UploadId"]?.text, !id.isEmpty else {
            throw ObjectStoreError(.refused, "\(bucket.url(of: key)): the server began no multipart upload")
        }
        var parts = ""
        do throws(ObjectStoreError) {
            for (index, (offset, sha256)) in zip(stride(from: 0, to: size, by: partSize), digests).enumerated() {
                let count = min(partSize, size - offset)
                var request = ObjectRequest(
                    method: "PUT", key: key, query: [("partNumber", String(index + 1)), ("uploadId", id)])
                request.body = .part(UploadedPart(of: file, offset: offset, count: count), sha256: sha256)
                let etag = try await send(request).headers["ETag"] ?? ""
                parts += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(Self.escaped(etag))</ETag></Part>"
            }
        } catch {
            await abort(PendingUpload(key: key, id: id, parts: ""))
            throw error
        }
        return PendingUpload(key: key, id: id, parts: parts)
    }

    /// Makes an upload's object appear. After a failure the upload is still pending.
    ///
    /// - Parameter isPermitted: called immediately before each try.
    /// - Throws: `ObjectStoreError`; `withdrawn` if `isPermitted` returned false.
    package func complete(
        _ upload: PendingUpload, if condition: WriteCondition,
        permitted isPermitted: @escaping WritePermission = { true }
    ) async throws(ObjectStoreError) {
        var request = ObjectRequest(method: "POST", key: upload.key, query: [("uploadId", upload.id)])
        request.headers = condition.headers + [HeaderField("Content-Type", "application/xml")]
        request.body = .bytes(Array("<CompleteMultipartUpload>\(upload.parts)</CompleteMultipartUpload>".utf8))
        // The status is sent before the parts are joined.
        request.mayFailLate = true
        request.isPermitted = isPermitted
        _ = try await send(request)
    }

    /// Deletes an upload's parts, which cost money until then. A life-cycle rule should delete missed ones.
    package func abort(_ upload: PendingUpload) async {
        do throws(ObjectStoreError) {
            _ = try await send(
                ObjectRequest(method: "DELETE", key: upload.key, query: [("uploadId", upload.id)]))
        } catch {
            // The upload was completed meanwhile, or the server is unreachable.
        }
    }
}
