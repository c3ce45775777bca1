import CommandLine
import Concurrency
import DiskCache
import Reports
import Terminal

extension Command {
    static let cachePath = Command(
        words: ["cache", "path"], operands: "KEY...",
        summary: "Print the paths of the files of keys",
        discussion: """
            Prints one path per line, whether the file exists or not. With --json {"key":...,"path":...,"exists":true}, with the
            path relative to the cache root. A KEY is any string, URL or not.
            """,
        examples: ["larder cache path https://example.com/a.jpg"],
        options: CachePlace.options
    ) { arguments in
        let keys = try arguments.operands("KEY", of: "cache path", acceptingEmpty: true)
        let place = try CachePlace(arguments)
        for key in keys.map(CacheKey.init) {
            if arguments.flag("json") {
                let exists = try await place.disk.run { [store = place.store] in
                    try store.size(named: store.naming.fileName(of: key), isUse: false) != nil
                }
                try Console.json(["key": key.text, "path": place.store.relativePath(of: key), "exists": exists])
            } else {
                Console.line(place.location(of: place.store.naming.fileName(of: key)))
            }
        }
        return .done
    }
}
