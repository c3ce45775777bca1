import Terminal

/// The known word that a misspelt one most likely means.
package enum NearestWord {
    /// The first nearest word; nil if more than a third of the letters differ.
    package static func to(_ word: String, among words: [String]) -> String? {
        guard word.utf8.count <= 100 else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in words {
            let distance = distance(Array(word.utf8), Array(candidate.utf8))
            let limit = max(1, max(word.utf8.count, candidate.utf8.count) / 3)
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.word
    }

    /// A question to append to an error; empty without a near word.
    ///
    /// - Parameter prefix: of the words in the question, such as `--`.
    package static func question(_ word: String, among words: [String], prefix: String = "") -> String {
        to(word, among: words).map { "; did you mean '\(prefix)\($0)'?" } ?? ""
    }

    /// The minimum insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
    package static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var least = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, before[j - 1] + 1) }
                row.append(least)
            }
            (before, last) = (last, row)
        }
        return last[b.count]
    }
}

/// Environment variables that resemble a setting but are none.
package enum MisspeltVariables {
    private static let prefix = "LARDER_"

    /// One line each, by name. Ignores variables that resemble no setting and belong to other programs.
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
