/// An object by its URL: `s3://BUCKET/KEY` or `gs://BUCKET/KEY`.
///
/// The key is all that follows the slash, its bytes as given: nothing is decoded, and `?` and `#` are part of it, as in
/// the programs of AWS and Google.
package struct ObjectURL: Sendable, Hashable, CustomStringConvertible {
    /// `s3` or `gs`.
    package let scheme: String
    /// The bucket's name.
    package let bucket: String
    /// The object's name, not empty.
    package let key: String

    /// - Throws: `invalidAddress` for another scheme, and without bucket or key.
    package init(_ text: String) throws(ObjectStoreError) {
        guard BucketAddress.isBucket(text) else {
            throw ObjectStoreError(.invalidAddress, "'\(text)' is not s3://BUCKET/KEY")
        }
        scheme = String(text.prefix(2))
        let rest = text.utf8.dropFirst(5)
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        bucket = String(rest[..<slash]) ?? ""
        key = String(rest[slash...].dropFirst()) ?? ""
        guard !bucket.isEmpty, !key.isEmpty else {
            throw ObjectStoreError(.invalidAddress, "\(text): the URL names no object; s3://BUCKET/KEY is expected")
        }
    }

    /// `s3://BUCKET`.
    package var bucketURL: String { "\(scheme)://\(bucket)" }

    /// `s3://BUCKET/KEY`.
    package var description: String { "\(bucketURL)/\(key)" }
}
