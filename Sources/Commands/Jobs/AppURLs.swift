import CommandLine
import DiskCache
import Lists
import Reports
import Terminal

/// URLs as an app makes them: it escapes `ä`, a space, `[` or `|` and uses the escaped URL's key.
struct AppURLs {
    static let option = Option(
        "escape-urls",
        "take URLs with illegal characters as an app escapes them, so that it finds their keys; docs/storage.md"
    )

    private let rules: URLRules
    private let escapes: Bool
    private var hasWarned = false

    init(_ arguments: Arguments) throws(CommandError) {
        rules = try NamingOption.urlRules(arguments)
        escapes = arguments.flag(Self.option.name)
    }

    /// The URL to use instead of `url`. Warns about the first URL that an app would escape.
    ///
    /// - Parameter place: the URL's position in its list, before the warning.
    mutating func url(_ url: String, place: String = "") -> String {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard escapes || !hasWarned, scheme == "http" || scheme == "https",
            let escaped = rules.absoluteString(of: url), !escaped.utf8.elementsEqual(url.utf8)
        else { return url }
        if escapes { return escaped }
        hasWarned = true
        func shown(_ url: String) -> String { PrintableText.text(FailureLine.cut(ShownURL.masked(url))) }
        Console.note(
            "larder: \(place)an app escapes this URL and asks for another key, '\(shown(escaped))' instead of "
                + "'\(shown(url))'; --escape-urls takes the app's")
        return url
    }

    mutating func apply(to items: [ListItem]) -> [ListItem] {
        items.map { item in
            var item = item
            item.url = url(item.url, place: item.place)
            return item
        }
    }
}
