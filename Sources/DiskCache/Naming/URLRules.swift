/// The rules by which Apple's `NSURL` escapes a text that is not a URL as it stands. Keys of variants and extensions of
/// file names depend on them.
///
/// Source: swift-foundation, `RFC3986Parser.parse` of Swift 6.3 (iOS 17 to 26) and `URL.parse` with `useModernParsing`
/// (iOS 27).
public enum URLRules: String, Sendable, CaseIterable {
    /// iOS 17 to 26, macOS 14 to 26: a component with an illegal character is escaped whole, the `%` of its escapes
    /// included.
    case ios17
    /// iOS 27 and macOS 27: the escapes of a component stay.
    case ios27

    /// The text of the URL that an app makes of `text`: `NSURL.absoluteString`. Nil when it is no URL.
    public func absoluteString(of text: String) -> String? {
        KeyURL(Array(text.utf8), rules: self).map { String(decoding: $0.text, as: UTF8.self) }
    }
}
