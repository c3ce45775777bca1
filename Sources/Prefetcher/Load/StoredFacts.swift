internal import DiskCache
internal import ImageModel

/// Facts about a stored file in an extended attribute, so that later loads can report them without reading the image.
///
/// The attribute of a variant has at most 60 bytes with a format of seven letters. ext4 then keeps it in the inode; a
/// longer one takes a block of its own, 4 KiB for each file.
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

    init() {}

    init(of file: StoredFile) {
        (recipe, format, width, height) = (file.recipe, file.format, file.width, file.height)
        (sha256, digest) = (file.sha256, file.digest)
    }

    /// Reads a stored file's facts; only the format if another program stored or changed the file. Blocks.
    init(of file: OpenFile) {
        self.init()
        if let bytes = try? file.attribute(Self.attribute) { self = StoredFacts(bytes, length: file.size) }
        if format == nil {
            let recognise = { (bytes: UnsafeRawBufferPointer) in ImageFormat.recognise(Array(bytes))?.name }
            format = file.withPrefix(ImageFormat.recognisedBytes, recognise)
        }
    }

    /// Saves the facts with a file to be committed. Lost if the file system has no attributes. Blocks.
    ///
    /// - Parameter length: the file's length.
    func save(to file: TemporaryFile, length: Int) { try? file.setAttribute(Self.attribute, bytes(length)) }

    /// Fills in the description of a cached file.
    func describe(_ file: inout StoredFile) {
        (file.recipe, file.format, file.width, file.height) = (recipe, format, width, height)
        (file.sha256, file.digest) = (sha256, digest)
    }

    // MARK: - The attribute

    private static let version: UInt8 = 1
    /// Bytes before the texts: the version, the low 4 bytes of the file's length, recipe, width, height and SHA-256.
    private static let head = 1 + 4 + 8 + 4 + 4 + 32

    /// The head, in which zeros are unknown, then the format and the digest's fields, divided by spaces.
    func bytes(_ length: Int) -> [UInt8] {
        var bytes = [Self.version] + Self.bytes(of: length) + Self.bytes(of: recipe, 8)
        bytes += Self.bytes(of: width ?? 0) + Self.bytes(of: height ?? 0) + Self.bytes(of: sha256, 32)
        var texts = [format ?? ""]
        if let digest {
            texts += [digest.thumbHash, digest.blurHash, digest.averageColor, digest.dominantColor]
            texts += [digest.perceptualHash, digest.hasAlpha ? "1" : "0", String(digest.frames)]
        }
        return bytes + texts.joined(separator: " ").utf8
    }

    /// - Parameter length: of the file in bytes; facts of another length are void.
    init(_ bytes: [UInt8], length: Int) {
        guard bytes.count >= Self.head, bytes[0] == Self.version, bytes[1..<5].elementsEqual(Self.bytes(of: length))
        else { return }
        func text(_ range: Range<Int>) -> String? {
            bytes[range].allSatisfy { $0 == 0 } ? nil : SHA256Digest.hex(Array(bytes[range]))
        }
        func number(_ start: Int) -> Int? {
            let value = bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
            return value == 0 ? nil : value
        }
        (recipe, width, height, sha256) = (text(5..<13), number(13), number(17), text(21..<Self.head))
        let texts = bytes[Self.head...].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        format = texts.first.flatMap { $0.isEmpty ? nil : $0 }
        guard texts.count == 8, let frames = Int(texts[7]) else { return }
        digest = ImageDigest(
            thumbHash: texts[1], blurHash: texts[2], averageColor: texts[3], dominantColor: texts[4],
            perceptualHash: texts[5], hasAlpha: texts[6] == "1", frames: frames)
    }

    /// The low 4 bytes of a number, the lowest first.
    private static func bytes(of number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// Of hexadecimal digits; zeros where there are none, or not of `count` bytes.
    private static func bytes(of digits: String?, _ count: Int) -> [UInt8] {
        let values = (digits ?? "").utf8.map { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard values.count == 2 * count, !values.contains(nil) else { return Array(repeating: 0, count: count) }
        return (0..<count).map { (values[2 * $0] ?? 0) << 4 | (values[2 * $0 + 1] ?? 0) }
    }
}
