import Glibc
import Prefetcher
package import Terminal

/// Detects operands that are paths instead of URLs.
package enum LocalPath {
    /// - Throws: wrong usage for a directory's `file:` URL, and for an operand without a scheme that exists as a file,
    ///   begins like a path, or is an unmatched shell pattern. Other operands are URLs, or failed items.
    package static func refuse(_ operand: [UInt8], _ command: String) throws(CommandError) {
        let text = String(decoding: operand, as: UTF8.self)
        if FileURL.isFile(text), let path = try? FileURL.path(text), isDirectory(String(decoding: path, as: UTF8.self))
        {
            let directory = ShellWord.quoted(String(decoding: path, as: UTF8.self))
            throw .usage(
                "\(command): '\(PrintableText.text(text))' is a directory; --from-directory "
                    + "\(PrintableText.text(directory)) takes the images below it")
        }
        guard !operand.isEmpty, text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:/) == nil else { return }
        let shown = PrintableText.text(text)
        if isDirectory(text) {
            throw .usage(
                "\(command): '\(shown)' is a directory, not a URL; --from-directory takes the images below it")
        }
        if access(text, F_OK) == 0 {
            throw .usage(
                "\(command): '\(shown)' is a file, not a URL; --from reads a list of URLs, file:///DIR/NAME with "
                    + "--allow-path /DIR one image, --from-directory DIR --glob NAME images by their names")
        }
        guard !operand.contains(UInt8(ascii: "*")), !["./", "../", "~/"].contains(where: text.hasPrefix) else {
            throw .usage("\(command): '\(shown)' is not a URL, and there is no such file")
        }
    }

    /// Whether a path leads to a directory.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
