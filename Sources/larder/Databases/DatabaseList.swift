import ImageModel

/// The databases that a command may use, in the order in which they are named. A batch lives in one of them.
///
/// The order counts: a position in it is what places a batch. So a database may get another address, and producers may
/// reach it by different ones.
struct DatabaseList: Sendable, Equatable {
    struct Database: Sendable, Equatable {
        let url: String
        /// As results name it: `db1.internal:5432/larder`, without user, password and parameters.
        let label: String
    }

    let databases: [Database]

    /// - Parameter values: libpq URLs or key/value strings; a value that begins with a URL may have several URLs,
    ///   separated by white space.
    /// - Throws: wrong usage for a list that has anything but URLs, and for a database that is named twice.
    init(_ values: [String]) throws(CommandError) {
        var databases: [Database] = []
        for value in values {
            for url in try Self.urls(value) {
                let number = databases.count + 1
                let label = Self.label(url) ?? "database \(number)"
                if let same = databases.firstIndex(where: { $0.url == url || $0.label == label }) {
                    throw .usage("--database: the databases \(same + 1) and \(number) are the same, \(label)")
                }
                databases.append(Database(url: url, label: label))
            }
        }
        self.databases = databases
    }

    /// One database of a list, which keeps its label.
    init(only database: Database) { databases = [database] }

    /// The positions of the databases, from 0, in the order in which a batch of this name is looked for. A new batch
    /// goes to the first of them.
    ///
    /// This is rendezvous hashing: the greatest SHA-256 of `POSITION:NAME` comes first, with positions from 1. A database
    /// that is appended becomes the first one of some names, and the order of the others stays: the batches that there are
    /// of these names are then in the second one.
    ///
    /// - Parameter name: the name of a batch; all its runs, `nightly@3`, have the order of `nightly`.
    static func order(of name: String, among count: Int) -> [Int] {
        let name = withoutRun(name)
        let digests = (1...max(count, 1)).map { SHA256Digest.hex(of: "\($0):\(name)".utf8) }
        return digests.indices.sorted { digests[$0] > digests[$1] }
    }

    /// The URLs of a value. A URL has no white space; a string of keywords and values has it between them.
    private static func urls(_ value: String) throws(CommandError) -> [String] {
        guard isURL(value) else { return [value] }
        let words = value.split(whereSeparator: \.isWhitespace).map(String.init)
        // The words are not repeated: a part of a URL may be its password.
        for word in words where !isURL(word) || schemes.contains(where: { word.contains(",\($0)") }) {
            throw .usage("--database: several databases are URLs, postgresql://…, separated by white space")
        }
        return words
    }

    private static let schemes = ["postgresql://", "postgres://"]

    static func isURL(_ text: String) -> Bool { schemes.contains { text.hasPrefix($0) } }

    /// A name without its run: SQL reads `@` and one to nine digits at the end as a run.
    private static func withoutRun(_ name: String) -> String {
        guard let match = name.wholeMatch(of: /(.*)@-?[0-9]{1,9}/.dotMatchesNewlines()) else { return name }
        return String(match.1)
    }

    /// Host, port and name of a URL; nil for a string of keywords and values.
    private static func label(_ url: String) -> String? {
        guard let scheme = schemes.first(where: { url.hasPrefix($0) }) else { return nil }
        let parts = url.dropFirst(scheme.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        // A password may have an at sign.
        var host = place[0].split(separator: "@", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        var port = ""
        var name = place.count > 1 ? String(place[1]) : ""
        // These parameters precede what is before them, as in libpq.
        for parameter in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard pair.count == 2, !pair[1].isEmpty else { continue }
            switch pair[0] {
            case "host": host = pair[1].replacing("%2F", with: "/").replacing("%2f", with: "/")
            case "port": port = ":\(pair[1])"
            case "dbname": name = pair[1]
            case "service": name += "?service=\(pair[1])"
            default: break
            }
        }
        return PrintableText.text("\(host)\(port)/\(name)")
    }
}
