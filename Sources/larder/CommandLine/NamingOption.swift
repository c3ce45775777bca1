import DiskCache

/// `--naming`: whose names and keys the cache has.
enum NamingOption {
    static let option = Option(
        "naming", .value("NAMING"),
        "the image library whose names and keys the cache has: sdwebimage (default), "
            + "kingfisher or nuke; docs/apps.md")

    static func naming(_ arguments: Arguments) throws(CommandError) -> any CacheNaming {
        try arguments.choice(option.name, of: CacheNamings.all.map(\.name)).flatMap(CacheNamings.named)
            ?? SDWebImageNaming()
    }
}
