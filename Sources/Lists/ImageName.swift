import ImageModel

/// Recognises names of images by their endings.
enum ImageName {
    /// Whether a file name has one of `ImageFormat.usualExtensions`, in any case.
    static func isImage(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        ending(name).map(ImageFormat.usualExtensions.contains) ?? false
    }

    /// The ending of a file name in lower case, at most 4 letters; nil without one.
    static func ending(_ name: some BidirectionalCollection<UInt8>) -> String? {
        let ending = name.suffix(5)
        guard let dot = ending.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return nil }
        return String(decoding: ending[dot...].dropFirst(), as: UTF8.self).lowercased()
    }

    /// The value of `--allow-format` that accepts files with an ending; nil for other endings.
    static func formatOnRequest(_ ending: String) -> String? {
        let name = ending == "tif" ? "tiff" : ending
        return ImageFormat.acceptedOnRequest.first { $0.name == name }?.name
    }

    /// Whether the path of a URL has one of the endings; query and fragment do not count.
    static func isImage(url: String) -> Bool { isImage(Array(url.utf8.prefix { $0 != 0x3F && $0 != 0x23 })) }
}
