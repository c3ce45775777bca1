import ImageModel

/// Recognises names of images by their endings.
enum ImageName {
    /// Whether a file name has one of `ImageFormat.usualExtensions`, in any case.
    static func isImage(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        let ending = name.suffix(5)
        guard let dot = ending.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return false }
        return ImageFormat.usualExtensions.contains(
            String(decoding: ending[dot...].dropFirst(), as: UTF8.self).lowercased())
    }

    /// Whether the path of a URL has one of the endings; query and fragment do not count.
    static func isImage(url: String) -> Bool { isImage(Array(url.utf8.prefix { $0 != 0x3F && $0 != 0x23 })) }
}
