import CommandLine
import Downloader
import FoundationEssentials
import Terminal
import Transcoder

/// The tables `[origins."HOST"]`, `[credentials."NAME"]` and `[coders."NAME"]` of configuration files.
struct LarderTables: ConfigurationTables {
    static let sections = ["credentials", "coders"]

    /// The keys of `[origins."HOST"]`.
    private static let originKeys = ["rate", "connections", "streams"]

    private(set) var hosts: [String: OriginOverride] = [:]
    private(set) var credentials: [String: CredentialProfile] = [:]
    /// In order of registration.
    private(set) var coders: [ImageCoder] = []
    private var profiles: CredentialTables?
    private var programs: CoderTables?

    mutating func add(_ entry: TOMLEntry, _ secrets: SecretReference) throws(CommandError) -> Bool {
        switch (entry.path[0], entry.path.count) {
        case ("credentials", _):
            var tables = profiles ?? CredentialTables(secrets)
            defer { profiles = tables }
            try tables.add(entry)
        case ("coders", _):
            var tables = programs ?? CoderTables(file: secrets.file)
            defer { programs = tables }
            try tables.add(entry)
        case ("origins", 2...) where entry.path.count == 3 || entry.value == .table: try addHost(entry)
        default: return false
        }
        return true
    }

    mutating func endFile() -> [String] {
        defer { (profiles, programs) = (nil, nil) }
        var problems: [String] = []
        if var tables = profiles {
            credentials.merge(tables.profiles()) { _, new in new }
            problems += tables.problems
        }
        if var tables = programs {
            let added = tables.coders()
            // A coder that is registered again becomes the last one.
            coders = coders.filter { old in !added.contains { $0.name == old.name } } + added
            problems += tables.problems
        }
        return problems
    }

    private mutating func addHost(_ entry: TOMLEntry) throws(CommandError) {
        let host = entry.path[1].lowercased()
        guard entry.path.count > 2 else { return }
        let key = entry.path[2]
        guard Self.originKeys.contains(key) else {
            let near = NearestWord.question(key, among: Self.originKeys)
            throw .usage("origins.\"\(host)\".\(key) is not a setting\(near)")
        }
        guard case .number(let text) = entry.value, let number = Double(text),
            key == "rate" ? (0.001...1_000_000).contains(number) : (1...1000).contains(number) && Int(text) != nil
        else {
            let range = key == "rate" ? "a number from 0.001 to 1000000" : "a whole number from 1 to 1000"
            throw .usage("origins.\"\(host)\".\(key) must be \(range)")
        }
        var limits = hosts[host] ?? OriginOverride()
        switch key {
        case "rate": limits.rate = number
        case "connections": limits.connections = Int(number)
        default: limits.streams = Int(number)
        }
        hosts[host] = limits
    }
}

extension ConfigurationFile {
    /// Limits from `[origins."HOST"]`.
    var hosts: [String: OriginOverride] { (tables as? LarderTables)?.hosts ?? [:] }

    /// Profiles from `[credentials."NAME"]`.
    var credentials: [String: CredentialProfile] { (tables as? LarderTables)?.credentials ?? [:] }

    /// Coders from `[coders."NAME"]`, last registered last.
    var coders: [ImageCoder] { (tables as? LarderTables)?.coders ?? [] }

    init(_ arguments: Arguments) throws(CommandError) { try self.init(arguments, of: .larder) }
}
