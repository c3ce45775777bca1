import Terminal

/// Variables of the environment that resemble a setting and are none.
package enum MisspeltVariables {
    private static let prefix = "LARDER_"

    /// A line about each, by name. Variables that resemble no setting belong to other programs and are left out.
    package static func notes(_ environment: [String: String], of table: CommandTable) -> [String] {
        let known = table.variables.map { String($0.dropFirst(prefix.count)) }
        return environment.keys.filter { $0.hasPrefix(prefix) && !table.variables.contains($0) }.sorted()
            .compactMap { name in
                // Kubernetes sets LARDER_PORT in every pod of a namespace with a service named larder.
                guard environment[name]?.hasPrefix("tcp://") == false,
                    let near = NearestWord.to(String(name.dropFirst(prefix.count)), among: known)
                else { return nil }
                return "\(PrintableText.text(name)) is not a setting and is ignored; did you mean \(prefix)\(near)?"
            }
    }
}
