import FoundationEssentials
import JobQueue
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
            Preview makes variants of an image as a worker with the same options would, and stores nothing. Of several
            databases each has its dashboard below /databases/N/, and the first page has the batches of all.
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
        ] + CachePlace.options + Limits.fetchOptions + Limits.transcodeOptions
    ) { arguments in
        let address = try WorkerEndpoint.address(arguments) ?? ListenAddress(host: "127.0.0.1", port: 8_090)
        let access = try DashboardAccess(arguments, address)
        let stop = ShutdownRequest()
        await Signals.deliver(to: stop)
        var calls = try DatabaseCalls(arguments)
        let databases = try await calls.each { settings in
            OpenDatabase(
                label: settings.label,
                queue: try await settings.openQueue(starting: true, maxWait: WorkerSetup.maxWait))
        }
        try calls.end()
        let place = address.isLoopback || arguments.flag("serve-cache") ? try CachePlace(arguments) : nil
        let preview = try DashboardPreview(
            arguments, place: place, fetching: try Limits.fetch(arguments),
            transcoding: try Limits.transcoders(arguments))
        let members = databases.map { database in
            let prefix = "larder: " + (database.label.map { "\($0): " } ?? "")
            let dashboard = Dashboard(queue: database.queue, access: access, place: place, preview: preview) {
                Console.note(prefix + $0)
            }
            return DashboardSet.Member(label: database.label ?? "", dashboard: dashboard)
        }
        let set = DashboardSet(members: members)
        // At most one request per connection waits here.
        let (requests, waiting) = AsyncStream.makeStream(
            of: (HTTPRequest, HTTPReply).self, bufferingPolicy: .bufferingOldest(HTTPEndpoint.connections))
        let server = try await HTTPEndpoint(
            address, header: access.userHeader, longestBody: { set.longestBody(of: $0) }
        ) { waiting.yield(($0, $1)) }
        let text = "http://\(address.host == "0.0.0.0" ? Machine.host : address.host):\(server.port)/"
        try Console.show(["url": text, "port": Int(server.port)], arguments, text)
        await withDiscardingTaskGroup { group in
            group.addTask {
                await withDiscardingTaskGroup { group in
                    for await (request, reply) in requests {
                        group.addTask {
                            let answer = await set.answer(request)
                            guard let send = answer.stream else { return reply.send(answer) }
                            guard let stream = reply.stream(answer) else { return }
                            await send(stream)
                            stream.end()
                        }
                    }
                }
            }
            await stop.wait()
            for database in databases { database.queue.end(by: .now + .seconds(5)) }
            await server.close()
            waiting.finish()
        }
        for database in databases { await database.queue.close() }
        Signals.release()
        return .done
    }
}

extension DashboardAccess {
    /// - Throws: wrong usage for an address that others can reach, or for changes, without authentication.
    fileprivate init(_ arguments: Arguments, _ address: ListenAddress) throws {
        token = try arguments.value("token-file").map(Self.token)
        userHeader = try arguments.value("user-header")?.lowercased()
        allowsChanges = arguments.flag("allow-changes")
        isLoopback = address.isLoopback
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
