import CommandLine
import DiskCache
import Terminal

/// `--naming` and `--url-rules`: whose names and keys the cache has.
enum NamingOption {
    static let options = [
        Option(
            "naming", .value("NAMING"),
            "the image library whose names and keys the cache has: sdwebimage (default), "
                + "kingfisher or nuke; or template:PATH; docs/storage.md"),
        Option(
            "url-rules", .value("RULES"),
            "the system whose rules make SDWebImage's keys: ios17 (default; iOS 17 to 26) or ios27; docs/sdwebimage.md"),
    ]

    static func naming(_ arguments: Arguments) throws(CommandError) -> any CacheNaming {
        let sdWebImage = try sdWebImage(arguments)
        if let text = try arguments.value("naming"), text.hasPrefix(TemplateNaming.prefix) {
            return TemplateNaming(try template(String(text.dropFirst(TemplateNaming.prefix.count))))
        }
        return try arguments.choice("naming", of: CacheNamings.all.map(\.name) + [TemplateNaming.prefix + "PATH"])
            .flatMap { $0 == sdWebImage.name ? sdWebImage : CacheNamings.named($0) } ?? sdWebImage
    }

    private static func template(_ text: String) throws(CommandError) -> PathTemplate {
        do throws(PathTemplateError) {
            return try PathTemplate(text)
        } catch {
            var question = ""
            if case .unknown(let word) = error {
                let near = NearestWord.to(word, among: PathTemplate.placeholders)
                question = near.map { "; did you mean '{\($0)}'?" } ?? ""
            }
            throw .usage("--naming: \(error)\(question)")
        }
    }

    /// SDWebImage's naming, whatever `--naming` says.
    static func sdWebImage(_ arguments: Arguments) throws(CommandError) -> SDWebImageNaming {
        SDWebImageNaming(urlRules: try urlRules(arguments))
    }

    static func urlRules(_ arguments: Arguments) throws(CommandError) -> URLRules {
        try arguments.choice("url-rules", of: URLRules.allCases.map(\.rawValue)).flatMap(URLRules.init) ?? .ios17
    }
}
