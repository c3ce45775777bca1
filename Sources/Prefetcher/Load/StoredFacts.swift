internal import DiskCache

/// The hash of a variant's recipe, in an extended attribute of its file.
enum Recipe {
    private static let attribute = "larder.recipe"

    /// The recipe by which a stored file was made; nil when it has none or it cannot be read. Blocks.
    static func of(_ file: OpenFile) -> String? {
        (try? file.attribute(attribute)).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Saves it with a file to be committed. A file system without attributes loses it. Blocks.
    static func save(_ recipe: String, to file: TemporaryFile) {
        try? file.setAttribute(attribute, Array(recipe.utf8))
    }
}
