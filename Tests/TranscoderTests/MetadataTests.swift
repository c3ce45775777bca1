import Foundation
import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// Metadata in outputs, read by Debian's exiftool, and outputs read by other decoders.
@Suite(.timeLimit(.minutes(5)))
struct MetadataTests {
    private let harness = PictureHarness()
    private let formats = ["jpeg", "png", "gif", "webp", "avif", "heic", "tiff", "jxl"]

    /// Runs a program on one file, which replaces `@` or is appended, and returns its output and whether it succeeded.
    private func tool(_ program: String, _ arguments: [String], _ file: [UInt8], _ suffix: String) throws
        -> (text: String, isFine: Bool)
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "image.\(suffix)")
        try Data(file).write(to: path)
        let process = Process(), pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        let words = arguments.map { $0 == "@" ? path.path : $0 }
        process.arguments = [program] + (words == arguments ? words + [path.path] : words)
        process.currentDirectoryURL = directory
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (String(decoding: text, as: UTF8.self), process.terminationStatus == 0)
    }

    /// The image with a place, a camera and an owner added by exiftool.
    private func marked(_ name: String) throws -> [UInt8] {
        try tagged(
            name,
            [
                "-GPSLatitude=52.5", "-GPSLatitudeRef=N", "-Make=Camera", "-Copyright=Somebody", "-Artist=Anybody",
                "-XMP-photoshop:City=Somewhere", "-XMP-exif:GPSLatitude=52.5",
            ])
    }

    private func tagged(_ name: String, _ tags: [String]) throws -> [UInt8] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: name)
        try Data(try Fixtures.image(name)).write(to: path)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["exiftool", "-q", "-m", "-overwrite_original"] + tags + [path.path]
        try process.run()
        process.waitUntilExit()
        return Array(try Data(contentsOf: path))
    }

    private static let private_ = ["GPS", "Camera", "Somewhere", "City", "XMP", "IPTC", "Software", "Comment"]

    /// An image of a format with a place and an owner in it.
    private func located(_ format: ImageFormat) throws -> [UInt8] {
        switch format {
        case .jpeg: return try marked("plain.jpg")
        case .png: return try marked("rgb.png")
        case .svg:
            // The only format that exiftool reads and does not write.
            let svg = try Fixtures.image("still.svg")
            let place = """
                <metadata><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
                <rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
                exif:GPSLatitude="52,30N" dc:rights="Somebody"/></rdf:RDF></x:xmpmeta></metadata></svg>
                """
            return Array((String(decoding: svg, as: UTF8.self).replacing("</svg>", with: place)).utf8)
        case .heif:
            // The brand alone makes it another format.
            var file = try marked("still.heic")
            #expect(Array(file[8..<12]) == Array("heic".utf8))
            file.replaceSubrange(8..<12, with: Array("mif1".utf8))
            return file
        default: return try marked("still.\(format.name)")
        }
    }

    @Test(arguments: ImageFormat.acceptedByDefault.union(ImageFormat.acceptedOnRequest).sorted { $0.name < $1.name })
    func `no output has a place, an owner or a camera`(source: ImageFormat) async throws {
        let image = try located(source)
        #expect(ImageFormat.recognise(image) == source)
        let before = try tool("exiftool", ["-a", "-G1"], image, source.name)
        #expect(before.text.contains("GPS Latitude"), "it is in the input")
        #expect(before.text.contains("Somebody"), "it is in the input")
        let all = PictureHarness { $0.formats.formUnion(ImageFormat.acceptedOnRequest) }
        let variants = formats.map { #""keySuffix":"\#($0)","format":"\#($0)""# }
        let small = #""thumbnail":{"width":20,"height":20}"#
        let output = try await all.make(
            image, variants[0], variants[1], variants[2], variants[3], variants[4], variants[5], variants[6],
            variants[7], small)
        for (index, file) in output.files.enumerated() {
            let format = try output.made(index).format.name
            if index < formats.count { #expect(format == formats[index]) }
            let after = try tool("exiftool", ["-a", "-G1", "-u"], file, format)
            #expect(after.isFine)
            #expect(after.text.contains("MIME Type"))
            for text in Self.private_ + ["Somebody", "Anybody"] {
                #expect(!after.text.contains(text), "\(text) in \(format): \(after.text)")
            }
        }
    }

    @Test(arguments: ["plain.jpg", "rgb.png", "still.webp", "still.heic", "still.avif"])
    func `keepCopyright keeps the copyright and nothing else`(name: String) async throws {
        let image = try marked(name)
        for format in ["jpeg", "png", "webp", "avif", "heic"] {
            let output = try await harness.make(
                image, #""keySuffix":"x","keepCopyright":true,"format":"\#(format)""#)
            let after = try tool("exiftool", ["-a", "-G1", "-u"], output.files[0], format)
            #expect(after.text.contains("Somebody"), "\(format): \(after.text)")
            #expect(after.text.contains("Anybody"), "\(format): \(after.text)")
            for text in ["GPS", "Camera", "Somewhere", "XMP"] {
                #expect(!after.text.contains(text), "\(text) in \(format): \(after.text)")
            }
        }
    }

    @Test(arguments: ["ACME", "ACME (UK) Ltd", "© Zoë"])
    func `a kept copyright has its value alone`(value: String) async throws {
        let image = try tagged("plain.jpg", ["-EXIF:Copyright=\(value)", "-EXIF:Artist=\(value)"])
        for format in ["jpeg", "png", "webp", "avif"] {
            let output = try await harness.make(
                image, #""keySuffix":"x","keepCopyright":true,"format":"\#(format)""#)
            let after = try tool("exiftool", ["-s3", "-Copyright", "-Artist", "-Author"], output.files[0], format)
            // libvips 8.14 writes EXIF in ASCII, and a PNG's text in UTF-8, which exiftool reads as Latin-1.
            let latin = String(String.UnicodeScalarView(value.utf8.map { Unicode.Scalar($0) }))
            let expected = format == "png" ? latin : value.replacing("©", with: "(C)").replacing("ë", with: "e")
            let found = after.text.split(separator: "\n").map(String.init)
            #expect(found == [expected, expected], "\(format)")
        }
    }

    @Test(arguments: [
        ("ACME (ACME (Photographer) - [None] (Editor), ASCII, 5 components, 5 bytes)", "ACME"),
        ("A (B) (A (B), ASCII, 6 components, 6 bytes)", "A (B)"), ("A (A, ASCII, 9 components, 9 bytes)", "A"),
        ("A (B) (A (B), ASCII, 5 components, 5 bytes)", "A (B)"), ("plain", "plain"), ("", ""),
    ])
    func `a field of EXIF is read without what libvips adds`(text: String, value: String) {
        #expect(EXIFText.value(text) == value)
    }

    /// Decodes all frames with Pillow; every warning is an error.
    private static let pillow = """
        import sys, warnings
        from PIL import Image, ImageSequence
        warnings.simplefilter('error')
        with Image.open(sys.argv[1]) as image:
            for frame in ImageSequence.Iterator(image): frame.load()
        """

    /// Decoders other than libvips by format; `@` stands for the file.
    private static let decoders: [(format: String, command: [String])] = [
        ("jpeg", ["djpeg", "-outfile", "/dev/null", "@"]), ("jpeg", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("png", ["pngcheck", "-q", "@"]), ("png", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("webp", ["webpinfo", "-quiet", "@"]), ("webp", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("gif", ["giftext", "@"]), ("gif", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("tiff", ["/usr/bin/python3", "-c", pillow, "@"]), ("avif", ["avifdec", "@", "out.png"]),
        ("heic", ["heif-convert", "@", "out.png"]), ("heic", ["exiftool", "-validate", "-warning", "-error", "@"]),
    ]

    private func expectClean(_ file: [UInt8], _ format: String, _ what: String) throws {
        for decoder in Self.decoders where decoder.format == format {
            let words = decoder.command.dropFirst()
            let result = try tool(decoder.command[0], Array(words), file, format)
            #expect(result.isFine, "\(what), \(decoder.command[0]): \(result.text)")
            let text = result.text.lowercased().replacing("validate                        : ok", with: "")
            #expect(!text.contains("warning"), "\(what): \(result.text)")
            #expect(!text.contains("error"), "\(what): \(result.text)")
        }
    }

    @Test(arguments: ["jpeg", "png", "webp", "gif", "avif", "heic", "tiff"])
    func `other decoders read every output without a warning`(format: String) async throws {
        let soft = SyntheticImage.png(90, 70) { x, y in [UInt8(x * 2), UInt8(y * 3), 77, x > 40 ? 255 : 128] }
        let variant = #""keySuffix":"x","format":"\#(format)""#
        for (what, image) in [("with alpha", soft), ("without", try Fixtures.image("plain.jpg"))] {
            try expectClean(try await harness.make(image, variant).files[0], format, "\(format) \(what)")
        }
        guard ["gif", "webp"].contains(format) else { return }
        let animated = try await harness.make(
            try Fixtures.image("animated.gif"), #"\#(variant),"animation":"frames""#)
        #expect(try animated.made().frames == 3)
        try expectClean(animated.files[0], format, "\(format) animated")
    }
}
