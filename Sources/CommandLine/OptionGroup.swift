/// Options of a command under a title of its help: the usual ones first, the others by what they set.
package struct OptionGroup {
    package let title: String
    package let options: [Option]

    package init(title: String, options: [Option]) { (self.title, self.options) = (title, options) }

    /// A command with at most so many options shows all of them.
    private static let fewest = 11
    /// How many of the usual options the short help shows.
    private static let shown = 10

    /// The groups of a command; the first is what the short help shows.
    package static func groups(of command: Command, in table: CommandTable) -> [OptionGroup] {
        let common = CommandTable.commonOptions
        guard command.options.count > fewest else {
            return [OptionGroup(title: "options", options: command.options + common)]
        }
        let names = table.usualOptions.filter { name in command.options.contains { $0.name == name } }.prefix(shown)
        let first = names.compactMap { name in command.options.first { $0.name == name } }
        var rest = command.options.filter { !names.contains($0.name) }
        var groups = [OptionGroup(title: "options", options: first + common)]
        var later: [OptionGroup] = []
        for subject in table.subjects {
            let members = Set(subject.options.map(\.name))
            let options = rest.filter { members.contains($0.name) }
            rest.removeAll { members.contains($0.name) }
            if !options.isEmpty { later.append(OptionGroup(title: "options for \(subject.title)", options: options)) }
        }
        if !rest.isEmpty { groups.append(OptionGroup(title: "more options", options: rest)) }
        return groups + later
    }
}
