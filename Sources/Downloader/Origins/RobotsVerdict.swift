internal import Concurrency

/// What one download meets of the origins' wishes for robots, on all its hops.
package struct RobotsVerdict: Sendable {
    private let keeper: RobotsCache?
    /// Whether the rules of some hop's origin forbade it, which was not obeyed.
    private let isDisallowed = Locked(false)

    /// Nil records what the answer's header says, and reads and refuses nothing.
    package init(_ keeper: RobotsCache?) { self.keeper = keeper }

    /// Asked before each hop.
    package var admits: @Sendable (SourceURL) async throws(FetchError) -> Void {
        guard let keeper, keeper.settings.readsFile else { return { _ in } }
        return { [isDisallowed] url throws(FetchError) in
            if try await keeper.admit(url) == false { isDisallowed.withLock { $0 = true } }
        }
    }

    /// What is recorded: the directives of the answer, and `robots.txt` where it forbids; nil when nothing was said.
    ///
    /// - Throws: `robotsRefused` where a directive forbids the image and that is to be obeyed.
    package func said(of body: FetchedBody) throws(FetchError) -> String? {
        let directives = RobotsDirectives(body.robotsTag)
        if let keeper, keeper.settings.refuses, let forbids = directives.forbids {
            throw FetchError(
                .robotsRefused, "\(body.url): refused by X-Robots-Tag: \(forbids)", httpStatus: body.status)
        }
        let said = directives.names + (isDisallowed.withLock { $0 } ? ["robots.txt"] : [])
        return said.isEmpty ? nil : said.joined(separator: ", ")
    }
}
