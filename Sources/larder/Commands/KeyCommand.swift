import DiskCache
import ImageModel
import Prefetcher
import Transcoder

extension Command {
    static let key = Command(
        words: ["key"], operands: "KEY...",
        summary: "Print the cache key and file name of originals and variants; no network, no database",
        discussion: """
            Prints one JSON object per line: {"variant":null,"key":...,"file":...} for the original, then one for each
            variant and each suffix. A KEY is any string, not only a URL. The rules are SDWebImage 5.21.5's.
            """,
        examples: [
            "larder key https://example.com/a.jpg",
            "larder key https://example.com/a.jpg --variant '{\"name\":\"thumb\",\"thumbnail\":{\"width\":200,\"height\":200}}'",
        ],
        options: [
            Option("variant", .texts("JSON"), "a variant; repeatable"),
            Option("suffix", .texts("TEXT"), "the key of an app's own transformer; repeatable"),
        ]
    ) { arguments in
        let keys = try arguments.operands("KEY", of: "key")
        let variants = try VariantJSON.variants(try arguments.list("variant"))
        let suffixes = try arguments.list("suffix")
        let naming = SDWebImageNaming()
        for text in keys {
            let original = CacheKey(text)
            try Console.json(["variant": nil, "key": original.text, "file": naming.fileName(of: original)])
            for (name, added) in variants.map({ ($0.name, $0.keySuffixes) }) + suffixes.map({ ($0, [$0]) }) {
                let key = naming.variantKey(of: original, suffixes: added)
                try Console.json(["variant": name, "key": key?.text, "file": key.map(naming.fileName)])
            }
        }
        return .done
    }
}
