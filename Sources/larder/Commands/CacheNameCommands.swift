import Concurrency
import DiskCache
import Glibc

/// Where a key's picture lies: pure text, and one look.
extension Command {
    static let cachePath = Command(
        words: ["cache", "path"], operands: "KEY...",
        summary: "Print where the files of keys lie in the cache",
        discussion: """
            One path a line, there or not. With --json {"key":...,"path":...,"exists":true}, the path relative to the cache
            root. A KEY is any string, URL or not.
            """,
        options: CachePlace.options
    ) { arguments in
        struct Line: Encodable {
            let key: String
            let path: String
            let exists: Bool
        }
        let keys = try arguments.operands()
        guard !keys.isEmpty else { throw CommandError.usage("cache path: which KEY?") }
        let place = try CachePlace(arguments)
        for key in keys.map(CacheKey.init) {
            if arguments.flag("json") {
                let exists = try await place.disk.run { [layout = place.layout] in
                    try layout.peek(key.fileName) != nil
                }
                try Console.json(Line(key: key.text, path: place.layout.relativePath(of: key), exists: exists))
            } else {
                Console.line(place.layout.path(of: key))
            }
        }
        return .done
    }

    static let cacheKey = Command(
        words: ["cache", "key"], operands: key.operands, summary: key.summary, discussion: key.discussion,
        options: key.options, run: key.run)
}
