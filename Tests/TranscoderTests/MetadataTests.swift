@testable import ImageModel
import Foundation
import Testing
@testable import Transcoder

/// What is left of metadata, as Debian's exiftool sees it, and what other decoders say of the outputs.
@Suite(.timeLimit(.minutes(5)))
struct MetadataTests {
    private let kitchen = TranscodeHarness()
    private let formats = ["jpeg", "png", "gif", "webp", "avif", "heic"]

    /// Runs a program over one file, which stands for `@` or comes last; its output and whether it ended well.
    private func tool(_ program: String, _ arguments: [String], _ file: [UInt8], _ suffix: String) throws
        -> (text: String, isFine: Bool)
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "picture.\(suffix)")
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

    /// The picture with a place, a camera and an owner written into it by exiftool.
    private func marked(_ name: String) throws -> [UInt8] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: name)
        try Data(try Fixtures.picture(name)).write(to: path)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "exiftool", "-q", "-m", "-overwrite_original", "-GPSLatitude=52.5", "-GPSLatitudeRef=N", "-Make=Camera",
            "-Copyright=Somebody", "-Artist=Anybody", "-XMP-photoshop:City=Somewhere", "-XMP-exif:GPSLatitude=52.5",
            path.path,
        ]
        try process.run()
        process.waitUntilExit()
        return Array(try Data(contentsOf: path))
    }

    private static let private_ = ["GPS", "Camera", "Somewhere", "City", "XMP", "IPTC", "Software", "Comment"]

    /// A picture of every format that can be read, with a place and an owner in it.
    private func located(_ format: ImageFormat) throws -> [UInt8] {
        switch format {
        case .jpeg: return try marked("plain.jpg")
        case .png: return try marked("rgb.png")
        case .svg:
            // The one format that exiftool reads and does not write.
            let svg = try Fixtures.picture("still.svg")
            let place = """
                <metadata><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
                <rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
                exif:GPSLatitude="52,30N" dc:rights="Somebody"/></rdf:RDF></x:xmpmeta></metadata></svg>
                """
            return Array((String(decoding: svg, as: UTF8.self).replacing("</svg>", with: place)).utf8)
        case .heif:
            // By its brand alone it is another format.
            var file = try marked("still.heic")
            #expect(Array(file[8..<12]) == Array("heic".utf8))
            file.replaceSubrange(8..<12, with: Array("mif1".utf8))
            return file
        default: return try marked("still.\(format.name)")
        }
    }

    @Test(arguments: ImageFormat.acceptedByDefault.union(ImageFormat.acceptedOnRequest).sorted { $0.name < $1.name })
    func `nothing of where, by whom and with what is left in any output`(source: ImageFormat) async throws {
        let picture = try located(source)
        #expect(ImageFormat.recognise(picture) == source)
        let before = try tool("exiftool", ["-a", "-G1"], picture, source.name)
        #expect(before.text.contains("GPS Latitude") && before.text.contains("Somebody"), "it is in the input")
        let all = TranscodeHarness { $0.limits.formats.formUnion(ImageFormat.acceptedOnRequest) }
        let variants = formats.map { #""keySuffix":"\#($0)","format":"\#($0)""# }
        let small = #""thumbnail":{"width":20,"height":20}"#
        let dish = try await all.make(
            picture, variants[0], variants[1], variants[2], variants[3], variants[4], variants[5], small)
        for (index, file) in dish.files.enumerated() {
            let format = try dish.made(index).format.name
            if index < formats.count { #expect(format == formats[index]) }
            let after = try tool("exiftool", ["-a", "-G1", "-u"], file, format)
            #expect(after.isFine && after.text.contains("MIME Type"))
            for text in Self.private_ + ["Somebody", "Anybody"] {
                #expect(!after.text.contains(text), "\(text) in \(format): \(after.text)")
            }
        }
    }

    @Test(arguments: ["plain.jpg", "rgb.png", "still.webp", "still.heic", "still.avif"])
    func `the copyright stays where it is asked for, and nothing else does`(name: String) async throws {
        let picture = try marked(name)
        for format in ["jpeg", "png", "webp", "avif", "heic"] {
            let dish = try await kitchen.make(
                picture, #""keySuffix":"x","keepCopyright":true,"format":"\#(format)""#)
            let after = try tool("exiftool", ["-a", "-G1", "-u"], dish.files[0], format)
            #expect(after.text.contains("Somebody") && after.text.contains("Anybody"), "\(format): \(after.text)")
            for text in ["GPS", "Camera", "Somewhere", "XMP"] {
                #expect(!after.text.contains(text), "\(text) in \(format): \(after.text)")
            }
        }
    }

    /// Pillow's own decoders, with every warning an error, through all frames.
    private static let pillow = """
        import sys, warnings
        from PIL import Image, ImageSequence
        warnings.simplefilter('error')
        with Image.open(sys.argv[1]) as picture:
            for frame in ImageSequence.Iterator(picture): frame.load()
        """

    /// By format, programs that are not libvips; `@` stands for the file.
    private static let decoders: [(format: String, command: [String])] = [
        ("jpeg", ["djpeg", "-outfile", "/dev/null", "@"]), ("jpeg", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("png", ["pngcheck", "-q", "@"]), ("png", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("webp", ["webpinfo", "-quiet", "@"]), ("webp", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("gif", ["giftext", "@"]), ("gif", ["/usr/bin/python3", "-c", pillow, "@"]),
        ("avif", ["avifdec", "@", "out.png"]),
        ("heic", ["heif-convert", "@", "out.png"]), ("heic", ["exiftool", "-validate", "-warning", "-error", "@"]),
    ]

    private func expectClean(_ file: [UInt8], _ format: String, _ what: String) throws {
        for decoder in Self.decoders where decoder.format == format {
            let words = decoder.command.dropFirst()
            let result = try tool(decoder.command[0], Array(words), file, format)
            #expect(result.isFine, "\(what), \(decoder.command[0]): \(result.text)")
            let text = result.text.lowercased().replacing("validate                        : ok", with: "")
            #expect(!text.contains("warning") && !text.contains("error"), "\(what): \(result.text)")
        }
    }

    @Test(arguments: ["jpeg", "png", "webp", "gif", "avif", "heic"])
    func `other decoders read every output without a word`(format: String) async throws {
        let soft = MadePicture.png(90, 70) { x, y in [UInt8(x * 2), UInt8(y * 3), 77, x > 40 ? 255 : 128] }
        let variant = #""keySuffix":"x","format":"\#(format)""#
        for (what, picture) in [("with alpha", soft), ("without", try Fixtures.picture("plain.jpg"))] {
            try expectClean(try await kitchen.make(picture, variant).files[0], format, "\(format) \(what)")
        }
        guard ["gif", "webp"].contains(format) else { return }
        let animated = try await kitchen.make(
            try Fixtures.picture("animated.gif"), #"\#(variant),"everyFrame":true"#)
        #expect(try animated.made().frames == 3)
        try expectClean(animated.files[0], format, "\(format) animated")
    }
}
