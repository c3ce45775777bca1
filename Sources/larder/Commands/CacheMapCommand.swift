import Concurrency
import DiskCache
import JobQueue

extension Command {
    static let cacheMap = Command(
        words: ["cache", "map"], operands: "",
        summary: "Write the map by which nginx serves the cache",
        discussion: """
            From --batch BATCH, --manifest FILE, or the cache's own manifest. A client asks for a key by its URL without the
            scheme: /host/path?query. Media types are told by the files' first bytes. deploy/nginx has the configuration that
            includes the map.
            """,
        options: CachePlace.options + [
            Option("batch", .value("BATCH"), "what this batch stored"),
            Option("manifest", .value("FILE"), "what stands in this manifest"),
            Option("output", short: "o", .value("FILE"), "where to write it; default: standard output"),
            Settings.databaseOption,
        ]
    ) { arguments in
        if arguments.flag("json") { throw CommandError.usage("cache map: it writes nginx's map, there is no --json") }
        let place = try CachePlace(arguments)
        var map = NginxMap()
        if let name = try arguments.value("batch") {
            let queue = try await Settings(arguments).openQueue()
            let batch = try await queue.progress(of: try await queue.batch(called: name)).id
            var entries: [ManifestEntry] = []
            try await BatchFiles(queue: queue, place: place).visit(batch) { _, entry in
                if let entry { entries.append(entry) }
            }
            try await add(entries, of: place, to: &map)
        } else if let path = try arguments.value("manifest") ?? place.layout.ownManifest {
            var reader = try LineReader(path)
            while let line = try await reader.next() {
                try await add([try ManifestEntry(line: line, of: path)], of: place, to: &map)
            }
        } else {
            throw CommandError.usage("cache map: of which --batch or --manifest?")
        }
        let text = map.text(namespace: place.layout.namespace)
        if let output = try arguments.value("output") {
            let file = try OutputFile(output)
            try file.write(Array(text.utf8))
            try file.keep()
        } else {
            Console.write(text)
        }
        let left = [
            (map.skipped, "no web address"), (map.shadowed, "asked for like another"),
            (map.tooLong, "too long for nginx"),
        ].filter { $0.0 > 0 }.map { "; \($0.0.counted("key")) left out: \($0.1)" }
        Console.note("larder: \(map.count.counted("file"))" + left.joined())
        return .done
    }

    private static func add(_ entries: [ManifestEntry], of place: CachePlace, to map: inout NginxMap) async throws {
        let formats = await place.disk.run { [layout = place.layout] in
            entries.map { FileFormat.name(ofFile: $0.file, in: layout) }
        }
        for (entry, format) in zip(entries, formats) { map.add(entry, format: format) }
    }
}
