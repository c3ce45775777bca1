import CommandLine
import Dashboard
import Downloader
import FoundationEssentials
import HTTPServer
import JobQueue
import Monitoring
import Reports
import Terminal
import Worker

extension Command {
    static let serve = Command(
        words: ["serve"], operands: "",
        summary: "Serve the dashboard, its JSON API and the metrics of the queues over HTTP",
        discussion: """
            Listens on this machine only, without a token, and changes nothing, unless told otherwise. Another address needs
            --token-file, or --user-header behind a proxy that authenticates its users, and so does --allow-changes. There is
            no TLS: use a proxy. The API is under /api/v1, described by /api/v1/openapi.json. The database login decides what
            can be read and changed: larder_reader suffices to look, changes need larder_admin. With --allow-changes the page
            Preview makes variants of an image as a worker with the same options would, and stores nothing.
            """,
        examples: ["larder serve", "larder serve --listen :8090 --token-file /etc/larder/token --allow-changes"],
        options: [
            Option(
                "listen", .value("ADDRESS"),
                "HOST:PORT, :PORT for all addresses, or PORT for loopback only; default 127.0.0.1:8090"),
            Option("token-file", .value("FILE"), "every request needs the token in FILE: Authorization: Bearer TOKEN"),
            Option("user-header", .value("NAME"), "every request needs this header, in which a proxy names its user"),
            Option("allow-changes", "permit pause, resume, cancel, retry, discard and the other changes"),
            Option("serve-cache", "show the images of the cache; without it only on loopback"),
            Settings.databaseOption,
        ] + CachePlace.options + Limits.fetchOptions.filter { $0.name != AllowedPaths.option.name }
            + Limits.transcodeOptions
    ) { arguments in
        let address = try WorkerEndpoint.address(arguments) ?? ListenAddress(host: "127.0.0.1", port: 8_090)
        let access = try DashboardAccess(arguments, address)
        let stop = ShutdownRequest()
        await Signals.deliver(to: stop)
        let settings = try Settings(arguments)
        try await settings.openQueue(starting: true).close()
        let queues = DashboardQueues(
            databaseURL: try await settings.database(), maxWait: WorkerSetup.maxWait)
        let place = address.isLoopback || arguments.flag("serve-cache") ? try CachePlace(arguments) : nil
        let fetching = try Limits.fetch(arguments)
        let downloader = ImageDownloader(fetching)
        let preview = DashboardPreview(
            place: place, downloader: downloader,
            objects: try BucketSource(arguments, downloader, fetching.limits).reader,
            mostBytes: Int(clamping: fetching.limits.body), transcoding: try Limits.transcoders(arguments))
        let dashboard = Dashboard(queues: queues, access: access, place: place, preview: preview) {
            Console.note("larder: " + $0)
        }
        // At most one request per connection waits here.
        let (requests, waiting) = AsyncStream.makeStream(
            of: (HTTPRequest, HTTPReply).self, bufferingPolicy: .bufferingOldest(HTTPEndpoint.connections))
        let server = try await HTTPEndpoint(
            address, header: access.userHeader, longestBody: { dashboard.longestBody(of: $0) }
        ) { waiting.yield(($0, $1)) }
        let text = "http://\(address.host == "0.0.0.0" ? Machine.host : address.host):\(server.port)/"
        try Console.show(["url": text, "port": Int(server.port)], arguments, text)
        await withDiscardingTaskGroup { group in
            group.addTask {
                await withDiscardingTaskGroup { group in
                    for await (request, reply) in requests {
                        group.addTask {
                            guard let answer = await reply.whileWanted({ await dashboard.answer(request) }) else {
                                return
                            }
                            guard let send = answer.stream else { return reply.send(answer) }
                            guard let stream = reply.stream(answer) else { return }
                            await send(stream)
                            stream.end()
                        }
                    }
                }
            }
            await stop.wait()
            queues.end(by: .now + .seconds(5))
            await server.close()
            waiting.finish()
        }
        await queues.close()
        Signals.release()
        return .done
    }
}

extension DashboardAccess {
    /// - Throws: wrong usage for a non-loopback address, or for changes, without authentication.
    fileprivate init(_ arguments: Arguments, _ address: ListenAddress) throws {
        self.init(
            token: try arguments.value("token-file").map(Self.token),
            userHeader: try arguments.value("user-header")?.lowercased(),
            allowsChanges: arguments.flag("allow-changes"), isLoopback: address.isLoopback)
        guard token == nil && userHeader == nil else { return }
        let ways = "--token-file, or --user-header behind a proxy that authenticates"
        if !isLoopback { throw CommandError.usage("serve: an address other than loopback needs \(ways)") }
        if allowsChanges { throw CommandError.usage("serve: --allow-changes needs \(ways)") }
    }

    private static func token(in path: String) throws -> String {
        let token = String(decoding: try WholeFile.bytes(path), as: UTF8.self).trimmed(of: \.isWhitespace)
        guard token.utf8.count >= 16, token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw CommandError.usage("serve: the token in \(path) must be at least 16 visible ASCII characters")
        }
        return token
    }
}
