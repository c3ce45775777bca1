import Concurrency
import DiskCache
import JobQueue

extension Command {
    static let cacheMap = Command(
        words: ["cache", "map"], operands: "",
        summary: "Write the map with which nginx serves the cache",
        discussion: """
            The files are those of --batch BATCH, of --manifest FILE, or of the manifest in the cache root. Clients request a key by
            its URL without the scheme: /host/path?query. Media types are recognised by the files' first bytes. deploy/nginx has
            the configuration that includes the map.
            """,
        examples: ["larder cache map --batch spring -o /etc/nginx/larder-map.conf"],
        options: CachePlace.options + [
            Option("batch", .value("BATCH"), "the files that this batch stored"),
            Option("manifest", .value("FILE"), "the files in this manifest"),
            Option("output", short: "o", .value("FILE"), "the file to write; default: standard output"),
            Settings.databaseOption,
        ]
    ) { arguments in
        if arguments.flag("json") {
            throw CommandError.usage("cache map: the output is nginx's map, there is no --json")
        }
        let place = try CachePlace(arguments)
        var entries: [ManifestEntry] = []
        if let name = try arguments.value("batch") {
            let queue = try await Settings(arguments).finding(name).openQueue()
            try await queue.forEachFile(of: try await queue.id(ofBatch: name), in: place) { _, _, entry in
                if let entry { entries.append(entry) }
            }
        } else if let path = try arguments.value("manifest") ?? place.manifest {
            var reader = try LineReader(path)
            while let line = try await reader.next() {
                entries.append(try ManifestEntry(line: line, of: path, naming: place.store.naming))
            }
        } else {
            throw CommandError.usage("cache map needs --batch or --manifest")
        }
        let map = await place.disk.run { [store = place.store, entries] in
            var map = NginxMap()
            for entry in entries { map.add(entry, format: FileFormat.name(ofFile: entry.file, in: store)) }
            return map
        }
        let text = map.text(directory: place.store.directory)
        if let output = try arguments.value("output") {
            let file = try OutputFile(output)
            try file.write(Array(text.utf8))
            try file.keep()
        } else {
            Console.write(text)
        }
        let omitted = [
            (map.skipped, "not an http or https URL"), (map.shadowed, "same path as another key"),
            (map.tooLong, "too long for nginx"),
        ].filter { $0.0 > 0 }.map { "; \($0.0.counted("key")) left out: \($0.1)" }
        Console.note("larder: \(map.count.counted("file"))" + omitted.joined())
        return .done
    }
}
