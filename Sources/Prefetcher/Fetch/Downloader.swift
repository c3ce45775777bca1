/// Downloads bodies into files.
package final class Downloader: Sendable {
    private let configuration: FetchConfiguration
    private let resolver: any NameResolving

    package init(_ configuration: FetchConfiguration = FetchConfiguration(), resolver: any NameResolving = Resolver()) {
        self.configuration = configuration
        self.resolver = resolver
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchedBody {
        throw FetchError(.cancelled, "not built")
    }
}
