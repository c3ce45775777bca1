import CommandLine
import ImageModel
import Reports
import Terminal

/// A complete command for the user to run next, with this command's options.
///
/// Environment variables and configuration files apply to it as well, so they are not repeated.
struct NextCommand {
    /// Quoted for a shell.
    let text: String
    /// Whether a password was omitted, which the user has to add.
    let hidesSecret: Bool

    /// The line for people, after its purpose.
    var line: String {
        hidesSecret ? "\(text)   (passwords are not repeated: add them)" : text
    }

    /// - Parameters:
    ///   - command: such as `work`.
    ///   - flags: additional options without a value, such as `--drain`.
    ///   - names: the options that the command accepts; others are dropped.
    ///   - settings: the worker's additional settings.
    ///   - operands: unquoted.
    init(
        _ command: String, _ flags: [String] = [], repeating arguments: Arguments, only names: Set<String>,
        with settings: NeededSettings = NeededSettings(), operands: [String] = []
    ) {
        var hidesSecret = false
        func shown(_ text: String) -> String {
            let safe = Self.withoutSecret(text)
            if safe != text { hidesSecret = true }
            return ShellWord.quoted(safe)
        }
        var words = ["larder", command]
        words += flags
        for option in arguments.given
        where names.contains(option.name) && !settings.replaces(option.name) && !flags.contains("--\(option.name)") {
            words.append("--\(option.name)")
            guard let value = option.value else { continue }
            let isCache = option.name == Settings.cacheOption.name
            words.append(shown(isCache ? (try? Settings.cachePlace(value)) ?? value : value))
        }
        for option in settings.options(beyond: arguments) { words += ["--\(option.name)", shown(option.value)] }
        words += operands.map(shown)
        text = words.joined(separator: " ")
        self.hidesSecret = hidesSecret
    }

    /// A value without passwords and signatures. A user name alone is kept: without it the command would fail.
    private static func withoutSecret(_ value: String) -> String {
        let text = hasPassword(value) ? ShownURL.masked(value) : withUser(value)
        guard let password = text.range(ofASCII: "password=") else { return text }
        let rest = text[password.upperBound...]
        let end = rest.firstIndex { $0 == "&" || $0 == " " } ?? rest.endIndex
        return text[..<password.upperBound] + "***" + rest[end...]
    }

    /// The value with masked signatures, and its user name.
    private static func withUser(_ value: String) -> String {
        let masked = ShownURL.masked(value)
        // Only the user's name was removed.
        return ShownURL.text(value) == masked ? value : masked
    }

    private static func hasPassword(_ value: String) -> Bool {
        let bytes = Array(value.utf8)
        guard let slashes = value.range(ofASCII: "://") else { return false }
        let start = value.utf8.distance(from: value.startIndex, to: slashes.upperBound)
        let authority = bytes[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return false }
        return authority[..<at].contains(UInt8(ascii: ":"))
    }
}

extension String {
    /// The first position of an ASCII text.
    fileprivate func range(ofASCII text: String) -> Range<String.Index>? {
        let wanted = Array(text.utf8)
        var start = utf8.startIndex
        while start != utf8.endIndex {
            if utf8[start...].starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}

/// Settings that failed images need beyond a worker's options, collected while it works.
struct NeededSettings: Sendable {
    /// Values kept per option; the command then allows some of the images.
    private static let valueLimit = 50

    private var lists: [String: [String]] = [:]
    private var limits: [String: (value: String, amount: Int)] = [:]
    /// In order of appearance.
    private var names: [String] = []

    var isEmpty: Bool { names.isEmpty }

    mutating func add(_ settings: [RequiredSetting]) {
        for setting in settings {
            for option in setting.options { add(option, of: setting) }
        }
    }

    private mutating func add(_ option: RequiredSetting.Option, of setting: RequiredSetting) {
        if !names.contains(option.name) { names.append(option.name) }
        switch setting {
        case .address, .bucket, .path, .port, .format:
            var values = lists[option.name, default: []]
            guard !values.contains(option.value), values.count < Self.valueLimit else { return }
            values.append(option.value)
            lists[option.name] = values
        default:
            let amount = Int(option.value.prefix { $0.isNumber }) ?? 0
            if amount > limits[option.name]?.amount ?? -1 { limits[option.name] = (option.value, amount) }
        }
    }

    /// Whether these settings replace the given option.
    func replaces(_ name: String) -> Bool { names.contains(name) }

    /// The settings' options. A repeatable option has its given values, also from a variable, and the additional ones.
    func options(beyond arguments: Arguments) -> [(name: String, value: String)] {
        names.flatMap { name -> [(name: String, value: String)] in
            if let limit = limits[name] { return [(name, limit.value)] }
            let given = (try? arguments.list(name)) ?? []
            return (given + lists[name, default: []].filter { !given.contains($0) }).map { (name, $0) }
        }
    }
}
