import Glibc
public import ImageModel

/// File names from a template, for example a content management system's layout. Two keys can share a name: the store
/// records each file's key and refuses another one.
///
/// A variant's key is the URL, the variant's name, its declared size and its extension, separated by U+001F, which no
/// job's URL contains. Values unsafe in paths are changed as `SafePath` says.
public struct TemplateNaming: CacheNaming {
    /// The prefix of an option's value: `template:`.
    public static let prefix = "template:"
    /// The directory of the namespace `default`.
    static let defaultDirectory = "template"
    /// The longest `{stem}`, so that size and extension fit into 255 bytes.
    private static let stemLimit = 190
    private static let separator: Character = "\u{1F}"

    private let template: PathTemplate
    private let date: String

    /// - Parameters:
    ///   - template: a file's path.
    ///   - day: `{date}` is its UTC day; now by default.
    public init(_ template: PathTemplate, day: Timestamp = .now) {
        self.template = template
        var seconds = day.seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
        date = "\(parts.tm_year + 1_900)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday))"
    }

    /// `template:` and the template.
    public var name: String { Self.prefix + template.text }

    /// `template` for `default`, else the namespace.
    public func directory(of namespace: String) -> String {
        namespace == "default" ? Self.defaultDirectory : namespace
    }

    /// A relative path, whose components have at most 255 bytes and no dot at the beginning.
    public func fileNames(of key: CacheKey) -> [String] {
        let image = Image(key)
        let source = Source(image.url)
        let stem = SafePath.shortened(source.stem, to: Self.stemLimit)
        let path = template.expanded { placeholder in
            switch placeholder {
            case .host: [source.host]
            case .dir: source.directory
            case .stem: [stem]
            case .ext: [image.pathExtension ?? source.pathExtension]
            case .variant: [image.variant]
            case .width: [image.width]
            case .height: [image.height]
            case .sha256: [SHA256Digest.hex(of: image.url.utf8)]
            case .date: [date]
            }
        }
        return [SafePath.path(path)]
    }

    /// Whether `name` is a relative path without hidden, empty or long components.
    public func isFileName(_ name: String) -> Bool { SafePath.isSafe(name) }

    /// True.
    public var mayShareNames: Bool { true }

    /// One text: the variant's name, size and extension. The size is declared by the last `resize`, else by
    /// `thumbnail`, else empty. The extension is the format's, else the one of the URL's path in lower case.
    ///
    /// - Throws: `VariantError` for a format chosen when the image is made, if the template has `{ext}`.
    public func suffixes(of variant: Variant) throws(VariantError) -> [String] {
        guard variant.automatic == nil || !template.uses(.ext) else {
            throw VariantError(
                path: "$.format", message: "must be one format, as the template has {ext}")
        }
        let declared = variant.transforms.last { if case .resize = $0 { true } else { false } }
        var size = variant.thumbnail.map { ($0.width, $0.height) }
        if case .resize(let width, let height, _, _) = declared { size = (width, height) }
        let pathExtension = variant.format.map { $0 == .jpeg ? "jpg" : $0.name } ?? ""
        let box = size.map { "\(Self.text($0.0))x\(Self.text($0.1))" } ?? ""
        return [[variant.name, box, pathExtension].joined(separator: String(Self.separator))]
    }

    /// Nil for texts that are not from `suffixes(of:)`.
    public func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey? {
        guard suffixes.count == 1, suffixes[0].filter({ $0 == Self.separator }).count >= 2 else { return nil }
        return CacheKey(original.text + String(Self.separator) + suffixes[0])
    }

    private static func text(_ pixels: Double) -> String { Int(exactly: pixels).map(String.init) ?? "\(pixels)" }

    private struct Image {
        let url, variant, width, height: String
        /// Nil for an original.
        let pathExtension: String?

        init(_ key: CacheKey) {
            let parts = key.text.split(separator: separator, omittingEmptySubsequences: false)
            guard parts.count > 3 else {
                (url, variant, width, height, pathExtension) = (key.text, "", "", "", nil)
                return
            }
            let end = parts.count - 2
            let size = parts[end].split(separator: "x", maxSplits: 1)
            let source = String(parts[0])
            url = source
            variant = parts[1..<end].joined(separator: "_").replacing("/", with: "_")
            width = size.first.map(String.init) ?? ""
            height = size.count > 1 ? String(size[1]) : ""
            let declared = String(parts[end + 1])
            pathExtension = declared.isEmpty ? Source(source).pathExtension.lowercased() : declared
        }
    }

    /// The parts of a URL, safe as path components.
    private struct Source {
        let host, stem, pathExtension: String
        let directory: [String]

        init(_ url: String) {
            let bytes = Array(url.utf8)
            let parts = URLParts(bytes[...], .ios17)
            let slash = UInt8(ascii: "/")
            let path = parts?.path ?? bytes[...]
            var components = path.split(separator: slash).map(SafePath.component)
            // A path ending with a slash names no file, as for a web server.
            let file = path.last == slash ? nil : components.popLast()
            host = SafePath.component((parts?.host ?? [])[...]).lowercased()
            directory = components
            let name = file ?? "index"
            guard let dot = name.lastIndex(of: "."), dot != name.startIndex else {
                (stem, pathExtension) = (name, "")
                return
            }
            let start = String(name[..<dot]), found = String(name[name.index(after: dot)...])
            // A web server may execute a file with another extension.
            let isImage = ImageFormat.usualExtensions.union(ImageFormat.extensionsOnRequest).contains(
                found.lowercased())
            (stem, pathExtension) = isImage ? (start, found) : (start + "_" + found, "")
        }
    }
}
