/// Recognises names of images by their endings.
enum ImageName {
    /// The usual endings of the formats that are accepted by default, in lower case.
    private static let endings: Set<String> = [
        "jpg", "jpeg", "jpe", "jfif", "png", "apng", "gif", "webp", "avif", "heic", "heif", "hif",
    ]

    /// Whether a file name has one of the endings, in any case.
    static func isImage(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        let ending = name.suffix(5)
        guard let dot = ending.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return false }
        return endings.contains(String(decoding: ending[dot...].dropFirst(), as: UTF8.self).lowercased())
    }

    /// Whether the path of a URL has one of the endings; query and fragment do not count.
    static func isImage(url: String) -> Bool { isImage(Array(url.utf8.prefix { $0 != 0x3F && $0 != 0x23 })) }
}
