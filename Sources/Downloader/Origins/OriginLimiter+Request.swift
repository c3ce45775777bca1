extension OriginLimiter {
    /// Makes one hop of a download once its origin may be asked, and takes note of how it went.
    ///
    /// - Parameter prepare: what comes before the origin is asked; its failure says nothing about the origin.
    func passing<Prepared>(
        _ url: SourceURL, prepare: () async throws(FetchError) -> Prepared,
        hop: (Prepared) async throws(FetchError) -> Reply
    ) async throws(FetchError) -> Reply {
        let passage = try await enter(url)
        let prepared: Prepared
        do throws(FetchError) {
            prepared = try await prepare()
        } catch {
            leave(passage, .unknown)
            throw error
        }
        do throws(FetchError) {
            let reply = try await hop(prepared)
            leave(passage, .answered(status: reply.status, firstByte: reply.firstByte))
            return reply
        } catch {
            // What several shared failed once.
            leave(passage, error.isShared ? .unknown : RequestOutcome(error))
            throw error
        }
    }
}
