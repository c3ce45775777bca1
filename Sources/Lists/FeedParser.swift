import ImageModel
import ObjectStore
import Reports
import Terminal

/// Finds the images of a sitemap, RSS feed or Atom feed, piece by piece.
///
/// | Document | Images |
/// |---|---|
/// | sitemap | `image:loc` of each page, or the `loc` of a page without images if `ImageName` recognises it |
/// | RSS, Atom | `enclosure`, `media:content`, `link rel="enclosure"`: of an image type, or recognised without a type |
final class FeedParser {
    /// Maximum URL in bytes; the queue refuses more than 8,192.
    private static let longest = 16_384
    private static let roots: [String: ListFormat] = ["urlset": .sitemap, "rss": .rss, "RDF": .rss, "feed": .atom]

    private let expected: ListFormat?
    private var format: ListFormat?
    private var events: XMLEvents?
    /// The open elements' names, without prefixes.
    private var open: [String] = []
    private var text = ""
    /// The current page of a sitemap.
    private var page: String?
    private var hasImages = false
    private var items: [Result<ListItem, BadLine>] = []
    /// An undeclared entity in `text`, or in the next element's attributes.
    private var entity: String?
    private var refusal: String?

    /// - Parameter expected: nil for any format.
    init(_ expected: ListFormat?) { self.expected = expected }

    /// The images that end in the next piece; a URL with an undeclared entity is a bad line.
    ///
    /// - Throws: `BadLine` for a malformed document, or another kind.
    func parse(_ piece: [UInt8], isLast: Bool) throws(BadLine) -> [Result<ListItem, BadLine>] {
        if events == nil { events = XMLEvents { [unowned self] in handle($0) } }
        guard let events else { throw BadLine(line: 1, message: "no memory to parse it") }
        do throws(XMLEvents.Fault) { _ = try events.parse(piece, isLast: isLast) } catch {
            throw BadLine(line: error.line, message: "malformed XML: \(error.message)")
        }
        if let refusal { throw BadLine(line: events.line, message: refusal) }
        defer { items = [] }
        return items
    }

    private func handle(_ event: XMLEvents.Event) -> Bool {
        switch event {
        case .start(let name, let attributes):
            let local = String(name.split(separator: ":").last ?? "")
            guard !open.isEmpty || begin(local) else { return false }
            open.append(local)
            text = ""
            if format == .sitemap { startOfSitemap(local) } else { startOfFeed(local, attributes) }
            entity = nil
        case .text(let more):
            if open.last == "loc", text.utf8.count < Self.longest { text += more }
        case .skipped(let name, let isAttribute): if isAttribute || open.last == "loc" { entity = name }
        case .end:
            if format == .sitemap { endOfSitemap() }
            open.removeLast()
        }
        return true
    }

    private func begin(_ root: String) -> Bool {
        format = Self.roots[root]
        if let format, expected == nil || expected == format { return true }
        switch (format, root.lowercased()) {
        case (let format?, _): refusal = "is of the format \(format.rawValue), not \(expected?.rawValue ?? "")"
        case (nil, "html"): refusal = Self.html
        case (nil, "sitemapindex"): refusal = "is an index of sitemaps; give the sitemaps that it names"
        default: refusal = "XML with the root '\(FailureLine.cut(root))'; \(Self.accepted)"
        }
        return false
    }

    /// The end of messages about an invalid list.
    static let accepted =
        "lists are lines, CSV, TSV, JSON lines, sitemaps, RSS, Atom and JSON feeds"
    static let html = "is HTML, which is no list; \(accepted)"

    private func startOfSitemap(_ name: String) {
        if name == "url" { (page, hasImages) = (nil, false) }
    }

    private func endOfSitemap() {
        switch (open.last, open.dropLast().last) {
        case ("loc", "image"):
            hasImages = true
            add(text)
        case ("loc", "url") where entity != nil: add(text)
        case ("loc", "url"): page = text.trimmed(of: \.isWhitespace)
        case ("url", _): if let page, !hasImages, ImageName.isImage(url: page) { add(page) }
        default: break
        }
    }

    private func startOfFeed(_ name: String, _ attributes: [String: String]) {
        let url: String?
        switch name {
        case "enclosure", "content": url = attributes["url"]
        case "link" where attributes["rel"] == "enclosure": url = attributes["href"]
        default: url = nil
        }
        guard let url else { return }
        let type = attributes["type"]?.lowercased()
        if type?.hasPrefix("image/") ?? (attributes["medium"] == "image" || ImageName.isImage(url: url)) { add(url) }
    }

    private func add(_ url: String) {
        let line = events?.line ?? 0
        if let entity {
            items.append(.failure(BadLine(line: line, message: "the URL has the undeclared entity '\(entity)'")))
        } else {
            items.append(.success(ListItem(url: url.trimmed(of: \.isWhitespace), line: line)))
        }
    }
}

/// Recognises image names by their extension.
enum ImageName {
    /// Whether a file name has one of `ImageFormat.usualExtensions`, in any case.
    static func isImage(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        ending(name).map(ImageFormat.usualExtensions.contains) ?? false
    }

    /// A file name's extension in lower case, at most 4 letters; nil without one.
    static func ending(_ name: some BidirectionalCollection<UInt8>) -> String? {
        let ending = name.suffix(5)
        guard let dot = ending.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return nil }
        return String(decoding: ending[dot...].dropFirst(), as: UTF8.self).lowercased()
    }

    /// The value of `--allow-format` that accepts an extension; nil for others.
    static func formatOnRequest(_ ending: String) -> String? {
        let name = ending == "tif" ? "tiff" : ending
        return ImageFormat.acceptedOnRequest.first { $0.name == name }?.name
    }

    /// Whether a URL's path has an image extension; ignores query and fragment.
    static func isImage(url: String) -> Bool { isImage(Array(url.utf8.prefix { $0 != 0x3F && $0 != 0x23 })) }
}
