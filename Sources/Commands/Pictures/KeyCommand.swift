import CommandLine
import DiskCache
import ImageModel
import Prefetcher
import Terminal
import Transcoder

extension Command {
    static let key = Command(
        words: ["key"], operands: "KEY...",
        summary: "Print the cache key and file name of originals and variants; no network, no database",
        discussion: """
            Prints one JSON object per line: {"variant":null,"key":...,"file":...} for the original, then one for each
            variant and each suffix. A KEY is any string, not only a URL. The rules are SDWebImage 5.21.5's, with --naming
            keys of Kingfisher 8 or Nuke 13.
            """,
        examples: [
            "larder key https://example.com/a.jpg",
            "larder key https://example.com/a.jpg --variant thumb=200x200",
            "larder key https://example.com/a.jpg --naming kingfisher",
            "larder key 'https://example.com/a.jpg?token=1&v=2' --cache-key '{\"dropQuery\":[\"token\"]}'",
        ],
        options: [
            VariantJSON.option("a variant; repeatable"),
            VariantJSON.cacheKeyOption,
            Option("suffix", .texts("TEXT"), "the key of an app's own transformer; repeatable"),
            AppURLs.option,
        ] + NamingOption.options
    ) { arguments in
        let keys = try arguments.operands("KEY", of: "key", acceptingEmpty: true)
        let variants = try VariantJSON.variants(try arguments.list("variant"))
        let suffixes = try arguments.list("suffix")
        let naming = try NamingOption.naming(arguments)
        let rule = try VariantJSON.cacheKeyRule(arguments)
        var added: [(name: String, texts: [String])] = []
        for variant in variants {
            let texts = try VariantJSON.checking("--variant \"\(variant.name)\"") { () throws(VariantError) in
                try naming.suffixes(of: variant)
            }
            added.append((variant.name, texts))
        }
        added += suffixes.map { ($0, [$0]) }
        var app = try AppURLs(arguments)
        for given in keys {
            let text = app.url(given)
            let original = CacheKey(rule?.key(of: text) ?? text)
            try Console.json(["variant": nil, "key": original.text, "file": naming.fileName(of: original)])
            for (name, texts) in added {
                let key = naming.variantKey(of: original, suffixes: texts)
                try Console.json(["variant": name, "key": key?.text, "file": key.map(naming.fileName)])
            }
        }
        return .done
    }
}
