/// An object of a listing.
package struct ListedObject: Sendable {
    /// Complete, including the prefix.
    package let key: String
    /// In bytes.
    package let size: Int
    /// Seconds since 1970; 0 if the server sends none.
    package let modified: Int
}

extension ObjectClient {
    /// One page of a listing.
    package struct Page: Sendable {
        /// At most 1,000, in key order.
        package let objects: [ListedObject]
        /// The start of the next page; nil on the last one.
        package let next: String?
    }

    /// One page of the objects whose keys begin with `prefix` (`ListObjectsV2`).
    ///
    /// - Parameters:
    ///   - token: `next` of the previous page; nil for the first.
    ///   - limit: objects per page, 1,000 by default and at most.
    package func list(
        prefix: String, from token: String? = nil, limit: Int = 1000
    ) async throws(ObjectStoreError) -> Page {
        var request = ObjectRequest(method: "GET")
        request.query = [
            ("list-type", "2"), ("prefix", prefix), ("max-keys", String(limit)), ("encoding-type", "url"),
        ]
        if let token { request.query.append(("continuation-token", token)) }
        guard let root = XMLNode(try await send(request).body), root.name == "ListBucketResult" else {
            throw ObjectStoreError(.refused, "the listing of \(bucket) is not a ListBucketResult")
        }
        let isEncoded = root["EncodingType"]?.text == "url"
        let objects = root.all("Contents").compactMap { entry -> ListedObject? in
            guard let key = entry["Key"]?.text, let size = entry["Size"].flatMap({ Int($0.text) }) else { return nil }
            return ListedObject(
                key: isEncoded ? URIEscape.decoded(key) : key, size: size,
                modified: entry["LastModified"].flatMap { CredentialAnswer.seconds($0.text) } ?? 0)
        }
        let next = root["IsTruncated"]?.text == "true" ? root["NextContinuationToken"]?.text : nil
        guard next == nil || next != token else {
            throw ObjectStoreError(.refused, "the listing of \(bucket) does not end: a page follows itself")
        }
        return Page(objects: objects, next: next)
    }
}
