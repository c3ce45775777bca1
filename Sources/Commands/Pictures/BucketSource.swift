import CommandLine
import Downloader
import ObjectStore
import Prefetcher
import Terminal

/// Originals from `s3://` and `gs://` URLs.
struct BucketSource: ImageSource {
    static let option = Option(
        "allow-bucket", .values("URL"),
        "allow s3:// and gs:// sources in a bucket, s3://BUCKET, or below a prefix of it, s3://BUCKET/PREFIX")

    let reader: ObjectReader

    /// The options' source.
    ///
    /// - Throws: wrong usage, also if a bucket is allowed but the environment has no credentials.
    init(_ arguments: Arguments, _ downloader: ImageDownloader, _ limits: FetchLimits) throws(CommandError) {
        let buckets = try arguments.list(Self.option.name).map { (url) throws(CommandError) in
            try ObjectStoreOptions.address(url, of: Self.option.name, arguments)
        }
        let region = buckets.first?.region
        let credentials = try region.map { (region) throws(CommandError) in
            try ObjectStoreOptions.credentials(arguments, region: region)
        }
        reader = ObjectReader(downloader, limits: limits, buckets: buckets, credentials: credentials)
    }

    func canLoad(_ url: String) -> Bool { BucketAddress.isBucket(url) }

    /// Downloads an object under the downloader's rules and limits.
    func fetch(_ request: FetchRequest, into file: Int32) async throws(FetchError) -> FetchResponse {
        try await reader.fetch(request, into: file)
    }

    func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse {
        do throws(FetchError) {
            return try await fetch(request, into: file)
        } catch {
            throw LoadError(error)
        }
    }
}
