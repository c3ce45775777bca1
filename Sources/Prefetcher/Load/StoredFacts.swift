internal import DiskCache
internal import ImageModel

/// Facts about a stored file in an extended attribute, so that later loads can report them without reading the image.
struct StoredFacts: Sendable, Equatable {
    /// The hash of the variant's recipe.
    var recipe: String?
    var format: String?
    /// In pixels.
    var width: Int?
    var height: Int?
    /// 64 hexadecimal digits.
    var sha256: String?
    /// Only for originals.
    var digest: ImageDigest?

    private static let attribute = "larder.file"
    private static let count = 13

    init() {}

    init(of file: StoredFile) {
        (recipe, format, width, height) = (file.recipe, file.format, file.width, file.height)
        (sha256, digest) = (file.sha256, file.digest)
    }

    /// Reads a stored file's facts; only the format if another program stored or changed the file. Blocks.
    init(of file: OpenFile) {
        self.init()
        if let bytes = try? file.attribute(Self.attribute), let text = String(validating: bytes, as: UTF8.self) {
            self = StoredFacts(text, bytes: file.size)
        }
        if format == nil {
            let recognise = { (bytes: UnsafeRawBufferPointer) in ImageFormat.recognise(Array(bytes))?.name }
            format = file.withPrefix(ImageFormat.recognisedBytes, recognise)
        }
    }

    /// Saves the facts with a file to be committed. Lost if the file system has no attributes. Blocks.
    ///
    /// - Parameter bytes: the file's length.
    func save(to file: TemporaryFile, bytes: Int) { try? file.setAttribute(Self.attribute, Array(text(bytes).utf8)) }

    /// Fills in the description of a cached file.
    func describe(_ file: inout StoredFile) {
        (file.recipe, file.format, file.width, file.height) = (recipe, format, width, height)
        (file.sha256, file.digest) = (sha256, digest)
    }

    /// Fields separated by a space, `-` for unknown.
    func text(_ bytes: Int) -> String {
        let numbers = [width, height].map { $0.map(String.init) }
        var fields = [String(bytes), recipe, format] + numbers + [sha256]
        fields += [digest?.thumbHash, digest?.blurHash, digest?.averageColor, digest?.dominantColor]
        fields += [digest?.perceptualHash, digest.map { $0.hasAlpha ? "1" : "0" }, digest.map { String($0.frames) }]
        return fields.map { $0 ?? "-" }.joined(separator: " ")
    }

    /// - Parameter bytes: the file's length; facts with another length are ignored.
    init(_ text: String, bytes: Int) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false).map { $0 == "-" ? nil : String($0) }
        guard fields.count == Self.count, fields[0].flatMap({ Int($0) }) == bytes else { return }
        (recipe, format, sha256) = (fields[1], fields[2], fields[5])
        (width, height) = (fields[3].flatMap { Int($0) }, fields[4].flatMap { Int($0) })
        guard let thumb = fields[6], let blur = fields[7], let average = fields[8], let dominant = fields[9],
            let perceptual = fields[10], let alpha = fields[11], let frames = fields[12].flatMap({ Int($0) })
        else { return }
        digest = ImageDigest(
            thumbHash: thumb, blurHash: blur, averageColor: average, dominantColor: dominant,
            perceptualHash: perceptual, hasAlpha: alpha == "1", frames: frames)
    }
}
