private import Glibc
public import ImageModel

/// A program that makes a picture from a format that Larder does not read, such as the first frame of a video.
///
/// Runs once per image in a sandbox: reads the original from standard input, a file, and writes a PNG, animated PNG or
/// PAM to standard output. Registered in `TranscodeLimits.coders`. Source: SDWebImage 5.21.5, `SDImageCoder`.
public struct ImageCoder: Sendable, Hashable, Codable {
    /// Bytes at an offset that identify a format.
    public struct Signature: Sendable, Hashable, Codable {
        /// The bytes, at least one.
        public let bytes: [UInt8]
        /// Their position, from 0; they end within the first 512 bytes.
        public let offset: Int

        /// These bytes at this offset, 0 by default.
        public init(_ bytes: [UInt8], at offset: Int = 0) { (self.bytes, self.offset) = (bytes, offset) }

        /// Parses hexadecimal digits with an optional offset, `66747970@4`; nil if invalid.
        public init?(_ text: String) {
            let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            guard let digits = parts.first.map({ Array($0.utf8) }), digits.count.isMultiple(of: 2),
                let offset = parts.count == 1 ? 0 : Int(parts[1])
            else { return nil }
            var bytes: [UInt8] = []
            for index in stride(from: 0, to: digits.count, by: 2) {
                let pair = String(decoding: digits[index...index + 1], as: UTF8.self)
                guard pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else { return nil }
                bytes.append(byte)
            }
            self.init(bytes, at: offset)
            guard isReadable else { return nil }
        }

        /// The offset after the last byte.
        var end: Int { offset + bytes.count }

        fileprivate var isReadable: Bool {
            !bytes.isEmpty && (0...ImageFormat.recognisedBytes - bytes.count).contains(offset)
        }

        fileprivate func matches(_ prefix: some RandomAccessCollection<UInt8>) -> Bool {
            prefix.dropFirst(offset).prefix(bytes.count).elementsEqual(bytes)
        }
    }

    /// The format's name in records, reports and contexts.
    public let name: String
    /// The format's MIME type.
    public let mediaType: String
    /// Beginnings of its images; one must match.
    public let signatures: [Signature]
    /// The program's absolute path, and its arguments.
    public let command: [String]
    /// Absolute paths that the program may read in addition to `standardPaths`.
    public let paths: [String]

    /// Paths that every program may read and execute: the system's libraries, programs and fonts.
    public static let standardPaths = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts",
        "/var/cache/fontconfig", "/dev/zero", "/dev/urandom", "/sys/devices/system/cpu",
    ]

    /// Describes a program.
    ///
    /// - Parameters:
    ///   - name: up to 32 lower-case letters, digits and hyphens; not a format that Larder knows.
    ///   - mediaType: such as `video/mp4`; `application/octet-stream` by default.
    ///   - signatures: a file with one of them is this coder's.
    ///   - command: an absolute path and its arguments.
    ///   - paths: none by default.
    /// - Throws: `VariantError` naming the invalid field.
    public init(
        name: String, mediaType: String = "application/octet-stream", signatures: [Signature], command: [String],
        paths: [String] = []
    ) throws(VariantError) {
        func refusal(_ field: String, _ message: String) -> VariantError { VariantError(path: field, message: message) }
        guard Self.isName(name) else {
            throw refusal("name", "must have 1 to 32 lower-case letters, digits or hyphens")
        }
        guard ImageFormat(rawValue: name) == nil else { throw refusal("name", "is the name of a built-in format") }
        guard mediaType.wholeMatch(of: /[\w.+-]{1,100}\/[\w.+-]{1,100}/) != nil else {
            throw refusal("media-type", "must be a media type such as video/mp4")
        }
        guard (1...32).contains(signatures.count), signatures.allSatisfy(\.isReadable) else {
            throw refusal("signature", "must have 1 to 32 signatures within the first 512 bytes")
        }
        guard let program = command.first, program.hasPrefix("/") else {
            throw refusal("command", "must begin with the absolute path of a program")
        }
        guard command.count <= 64, command.allSatisfy({ $0.utf8.count <= 4096 && !$0.utf8.contains(0) }) else {
            throw refusal("command", "must have at most 64 words of at most 4096 bytes, without NUL")
        }
        guard paths.count <= 32, paths.allSatisfy({ $0.hasPrefix("/") && !$0.utf8.contains(0) }) else {
            throw refusal("read", "must have at most 32 absolute paths")
        }
        (self.name, self.mediaType, self.signatures) = (name, mediaType, signatures)
        (self.command, self.paths) = (command, paths)
    }

    /// Whether the program is a regular file that this process may execute.
    package var hasProgram: Bool {
        var status = stat()
        return stat(command[0], &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(command[0], X_OK) == 0
    }

    /// Whether the name is valid for a coder.
    package static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d
            }
    }
}

extension TranscodeLimits {
    /// A file's coder: the last one with a matching signature, as in `SDImageCodersManager`.
    ///
    /// - Parameter prefix: the first 512 bytes, or the whole file.
    public func coder(of prefix: some RandomAccessCollection<UInt8>) -> ImageCoder? {
        coders.last { $0.signatures.contains { $0.matches(prefix) } }
    }

    /// The last coder with this name.
    package func coder(named name: String) -> ImageCoder? { coders.last { $0.name == name } }

    /// How many leading bytes of a file the signatures need.
    package var coderBytes: Int { coders.flatMap(\.signatures).map(\.end).max() ?? 0 }
}
