/// Options of a command under a title of its help: the usual ones first, the others by what they set.
struct OptionGroup {
    let title: String
    let options: [Option]

    /// A command with at most so many options shows all of them.
    private static let fewest = 11
    /// How many of the usual options the short help shows.
    private static let shown = 10

    /// The options that users need most, in this order of need.
    private static let usual = [
        "from", "output", "pipeline", "variant", "batch", "drain", "max-runtime", "priority", "slots", "cache",
        "database",
        "allow-address", "transcoders", "grace", "log-format", "queue", "at", "format", "options", "retries", "contact",
        "robots", "proxy", "max-body",
    ]

    private static let subjects: [(title: String, options: [Option])] = [
        ("downloads", Limits.fetchOptions), ("origins", Limits.originOptions),
        ("images", Limits.transcodeOptions), ("the cache", StoreOptions.options + ExpiryOptions.work),
        ("a bucket as the cache", ObjectStoreOptions.options),
    ]

    /// The groups of a command; the first is what the short help shows.
    static func groups(of command: Command) -> [OptionGroup] {
        let common = CommandTable.commonOptions
        guard command.options.count > fewest else {
            return [OptionGroup(title: "options", options: command.options + common)]
        }
        let names = usual.filter { name in command.options.contains { $0.name == name } }.prefix(shown)
        let first = names.compactMap { name in command.options.first { $0.name == name } }
        var rest = command.options.filter { !names.contains($0.name) }
        var groups = [OptionGroup(title: "options", options: first + common)]
        var later: [OptionGroup] = []
        for subject in subjects {
            let members = Set(subject.options.map(\.name))
            let options = rest.filter { members.contains($0.name) }
            rest.removeAll { members.contains($0.name) }
            if !options.isEmpty { later.append(OptionGroup(title: "options for \(subject.title)", options: options)) }
        }
        if !rest.isEmpty { groups.append(OptionGroup(title: "more options", options: rest)) }
        return groups + later
    }
}
