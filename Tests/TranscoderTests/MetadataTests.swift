import Foundation
import Testing
import Transcoder

/// What is left of metadata, as Debian's exiftool sees it, and what other decoders say of the outputs.
@Suite(.timeLimit(.minutes(5)))
struct MetadataTests {
    private let kitchen = Kitchen()
    private let formats = ["jpeg", "png", "gif", "webp", "avif", "heic"]

    /// Runs a program over one file; its output and whether it ended well.
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
        process.arguments = [program] + arguments + [path.path]
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

    @Test(arguments: ["plain.jpg", "rgb.png", "still.gif", "still.webp", "still.heic", "still.avif"])
    func `nothing of where, by whom and with what is left in any output`(name: String) async throws {
        let picture = try marked(name)
        let before = try tool("exiftool", ["-a", "-G1"], picture, String(name.suffix(4).drop { $0 == "." }))
        #expect(before.text.contains("GPS") && before.text.contains("Somebody"), "it is in the input")
        let variants = formats.map { #""keySuffix":"\#($0)","format":"\#($0)""# }
        for (index, variant) in variants.enumerated() {
            let dish = try await kitchen.make(picture, variant)
            let after = try tool("exiftool", ["-a", "-G1", "-u"], dish.files[0], formats[index])
            for text in Self.private_ + ["Somebody", "Anybody"] {
                #expect(!after.text.contains(text), "\(text) in \(formats[index]): \(after.text)")
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

    @Test func `other decoders read every output without a word`() async throws {
        let picture = MadePicture.png(90, 70) { x, y in [UInt8(x * 2), UInt8(y * 3), 77, x > 40 ? 255 : 128] }
        let checks: [(format: String, program: String, arguments: [String])] = [
            ("jpeg", "djpeg", ["-outfile", "/dev/null"]), ("png", "pngcheck", ["-q"]), ("webp", "webpinfo", ["-quiet"]),
            ("avif", "avifdec", ["--info"]), ("gif", "exiftool", ["-validate", "-warning", "-error", "-q"]),
        ]
        for check in checks {
            let dish = try await kitchen.make(picture, #""keySuffix":"x","format":"\#(check.format)""#)
            let result = try tool(check.program, check.arguments, dish.files[0], check.format)
            #expect(result.isFine, "\(check.program): \(result.text)")
            #expect(
                !result.text.lowercased().contains("warning") && !result.text.lowercased().contains("error"),
                "\(result.text)")
        }
    }
}
