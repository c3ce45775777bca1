import Foundation
import Glibc
import TestSupport
import Testing

/// `larder transform` and `larder fetch`, without a database.
@Suite(.timeLimit(.minutes(5)))
struct ToolTests {
    private let directory: TemporaryDirectory
    private let origin: OriginServer

    init() throws {
        directory = try TemporaryDirectory()
        origin = try OriginServer()
    }

    private func larder(_ arguments: String...) -> LarderCommand { larder(arguments) }

    private func larder(_ arguments: [String]) -> LarderCommand {
        var command = LarderCommand(environment: [
            "LARDER_HOME": directory.file("home"), "LARDER_DATABASE_URL": "nonsense",
            "LARDER_ALLOW_ADDRESS": "127.0.0.0/8", "LARDER_ALLOW_PORT": "\(origin.port)", "LARDER_RETRY_BASE": "1ms",
        ])
        command.arguments = arguments
        return command
    }

    private func image(_ name: String) -> String { PackageRoot.path + "/Tests/TranscoderTests/Images/" + name }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: directory.file(name))))
    }

    // MARK: transform

    @Test(
        arguments: ["jpeg", "png", "gif", "webp", "tiff", "jxl"],
        ["plain.jpg", "alpha.png", "animated.gif", "still.webp", "still.avif"])
    func `transform writes each format from each`(format: String, source: String) async throws {
        let output = directory.file("out")
        let outcome = try await larder(
            "transform", image(source), "-o", output, "--json", "--options", "TransformAnimatedImage", "--variant",
            #"{"name":"v","transform":[{"type":"resize","width":12,"height":9}],"format":"\#(format)"}"#
        ).run()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        let line = try fields(try #require(outcome.lines.last))
        #expect(line["format"] as? String == format)
        #expect(line["path"] as? String == output)
        #expect(line["width"] as? Int == 12)
        #expect(line["height"] as? Int == 9)
        #expect(line["bytes"] as? Int == (try bytes("out").count))
        let sniffed = try await larder("sniff", output).run()
        // SDWebImage does not know JPEG XL and takes its first byte for a JPEG's.
        let known = format == "jxl" ? "jpeg" : format
        #expect(try fields(try #require(sniffed.lines.first))["format"] as? String == known)
        #expect(try directory.names == ["out"])
    }

    @Test func `transform reports a file over maxBytes and names a directory as such`() async throws {
        let output = directory.file("out")
        func transform(_ input: String, _ more: String = "", _ options: String...) async throws -> CommandOutcome {
            let variant = #"{"name":"v","keySuffix":"x","format":"jpeg"\#(more)}"#
            return try await larder(["transform", input, "-o", output, "--variant", variant] + options).run()
        }
        let over = try await transform(image("plain.jpg"), #","maxBytes":100"#, "--json")
        #expect(try fields(try #require(over.lines.last))["exceedsMaxBytes"] as? Bool == true)
        let text = try await transform(image("plain.jpg"), #","maxBytes":100"#)
        #expect(text.text.contains(", more than maxBytes"))
        let found = try await transform(image("plain.jpg"), #","ssim":0.9"#, "--json")
        let similar = try fields(try #require(found.lines.last))
        #expect(similar["exceedsMaxBytes"] as? Bool == false)
        #expect((similar["ssim"] as? Double ?? 0) >= 0.9)
        let refused = try await transform(directory.path)
        #expect(refused.code == 1)
        #expect(refused.errorText.contains("cannot read \(directory.path): Is a directory"))
    }

    @Test func `a program without standard descriptors writes into none of its files`() async throws {
        let output = directory.file("out"), variant = #"{"name":"v","keySuffix":"x","format":"jpeg"}"#
        let script = #""$0" transform "$1" -o "$2" --variant "$3" <&- >&- 2>&-"#
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script, Products.larder, image("plain.jpg"), output, variant]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1, "the result cannot be written to standard output")
        #expect(try bytes("out").starts(with: [0xFF, 0xD8, 0xFF]))
    }

    @Test func `transform draws watermarks of the directory that --watermarks or LARDER_WATERMARKS names`() async throws
    {
        let variant = #"{"name":"v","transform":[{"type":"watermark","file":"plain.jpg","scale":0.5}],"format":"png"}"#
        let output = directory.file("out"), marks = URL(filePath: image("plain.jpg")).deletingLastPathComponent().path
        let plain = try await larder(
            "transform", image("plain.jpg"), "-o", output, "--variant", #"{"name":"v","keySuffix":"x","format":"png"}"#
        ).run()
        #expect(plain.code == 0)
        let without = try bytes("out")
        let made = try await larder(
            "transform", image("plain.jpg"), "-o", output, "--variant", variant, "--watermarks", marks
        ).run()
        #expect(made.code == 0, "\(made.errorText)")
        let with = try bytes("out")
        #expect(with != without)
        var byVariable = larder("transform", image("plain.jpg"), "-o", output, "--variant", variant)
        byVariable.environment["LARDER_WATERMARKS"] = marks
        #expect(try await byVariable.run().code == 0)
        #expect(try bytes("out") == with)
        let missing = try await larder("transform", image("plain.jpg"), "-o", output, "--variant", variant, "--json")
            .run()
        #expect(try missing.error.kind == "LarderErrorDomain 401")
        #expect(try missing.error.message.hasSuffix("'plain.jpg' is not in the directory of watermarks"))
    }

    @Test func `transform replaces its output only on success`() async throws {
        let output = try directory.write("before".utf8, to: "out")
        let small = Variants.small
        for bad in [
            image("truncated.jpg"), image("bomb-pixels.png"), image("README.md"), directory.file("missing"),
        ] {
            let outcome = try await larder("transform", bad, "-o", output, "--variant", small, "--json").run()
            #expect(outcome.code == 1)
            #expect(try !outcome.error.message.isEmpty)
            #expect(try bytes("out") == Array("before".utf8), "\(bad)")
            #expect(try directory.names == ["out"], "\(bad)")
        }
        let outside = try await larder(
            "transform", image("plain.jpg"), "-o", output, "--variant", Variants.outside, "--json"
        ).run()
        #expect(try outside.error.kind == "LarderErrorDomain 401")
        #expect(try directory.names == ["out"])
        let plain = try await larder("transform", image("plain.jpg"), "-o", output, "--variant", small).run()
        #expect(plain.code == 0)
        #expect(plain.text.contains("20×10"))
        #expect(try bytes("out").starts(with: [0xFF, 0xD8]))
    }

    @Test func `transform reports errors by domain and code`() async throws {
        for (name, kind) in [
            ("truncated.jpg", "SDWebImageErrorDomain 1001"), ("README.md", "SDWebImageErrorDomain 1001"),
            ("bomb-pixels.png", "LarderErrorDomain 202"), ("bomb-edge.png", "LarderErrorDomain 203"),
            ("missing.jpg", "LarderErrorDomain 2"),
        ] {
            let outcome = try await larder(
                "transform", image(name), "-o", directory.file("out"), "--variant", Variants.small, "--json"
            ).run()
            #expect(try outcome.error.kind == kind, "\(name)")
        }
        #expect(try directory.names == [])
    }

    @Test func `transform names an unwritable output and leaves no file`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        let output = directory.file("no/such/directory/out")
        for command in [
            larder("transform", image("plain.jpg"), "-o", output, "--variant", Variants.small, "--json"),
            larder("fetch", origin.url("/a.jpg"), "-o", output, "--json"),
        ] {
            let outcome = try await command.run()
            #expect(outcome.code == 1)
            #expect(try outcome.error.kind == "LarderErrorDomain 2")
            #expect(try outcome.error.message.contains(output))
        }
        #expect(try directory.names == [])
        #expect(origin.requests.isEmpty)
    }

    // MARK: fetch

    @Test func `fetch prints the facts and writes the body`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        origin.on("/a.jpg", .redirect(to: "/b.jpg"))
        origin.on("/b.jpg", .body(image))
        let outcome = try await larder("fetch", origin.url("/a.jpg"), "-o", directory.file("out"), "--json").run()
        #expect(outcome.code == 0)
        #expect(outcome.lines.count == 1)
        let line = try fields(outcome.lines[0])
        #expect(line["httpStatus"] as? Int == 200)
        #expect(line["bytes"] as? Int == image.count)
        #expect(line["format"] as? String == "jpeg")
        #expect(line["redirects"] as? Int == 1)
        #expect(line["path"] as? String == directory.file("out"))
        let digest = try RunningCommand(
            "sha256sum", [directory.file("out")], environment: ["PATH": "/usr/bin:/bin"], input: []
        )
        let sum = await digest.outcome().text.prefix(64)
        #expect(line["sha256"] as? String == String(sum))
        #expect(try bytes("out") == image)

        let short = try await larder("fetch", origin.url("/b.jpg")).run()
        #expect(short.code == 0)
        #expect(short.text.contains("jpeg"))
        #expect(try directory.names == ["out"])
    }

    @Test func `fetch has the worker's errors and leaves no file`() async throws {
        origin.on("/page.jpg", .body(Array("<html>".utf8)))
        origin.on("/500.jpg", .status(500))
        origin.on("/short.jpg", .truncated(try TestImage.bytes("plain.jpg"), promised: 2000))
        origin.on("/loop.jpg", .redirect(to: "/loop.jpg"))
        origin.on("/large.jpg", .body(try TestImage.bytes("animated.gif")))
        for (url, kind) in [
            (origin.url("/missing.jpg"), "SDWebImageErrorDomain 2001"),
            (origin.url("/500.jpg"), "SDWebImageErrorDomain 2001"),
            (origin.url("/page.jpg"), "SDWebImageErrorDomain 1001"),
            (origin.url("/short.jpg"), "NSURLErrorDomain -1005"),
            (origin.url("/loop.jpg"), "NSURLErrorDomain -1007"), (origin.url("/large.jpg"), "LarderErrorDomain 201"),
            ("http://10.0.0.1/a.jpg", "LarderErrorDomain 101"), ("http://127.0.0.1:22/a.jpg", "LarderErrorDomain 102"),
            ("ftp://127.0.0.1/a.jpg", "NSURLErrorDomain -1002"), ("nonsense", "SDWebImageErrorDomain 1000"),
        ] {
            let outcome = try await larder(
                "fetch", url, "-o", directory.file("out"), "--json", "--retries", "1", "--max-body", "3000"
            ).run()
            #expect(outcome.code == 1, "\(url)")
            #expect(try outcome.error.kind == kind, "\(url): \(outcome.text)")
        }
        #expect(try directory.names == [])
        #expect(
            [origin.count("/missing.jpg"), origin.count("/500.jpg"), origin.count("/short.jpg")].elementsEqual([
                1, 2, 2,
            ]))
    }

    @Test func `a refused address or port is reported with the option that allows it`() async throws {
        let port = try await larder("fetch", "http://192.0.2.1:81/a.jpg", "--json").run()
        #expect(try port.error.message.contains("--allow-port 81"))
        let address = try await larder("fetch", "http://10.0.0.1/a.jpg", "--json").run()
        #expect(try address.error.message.contains("--allow-address"))
    }

    @Test func `a retry waits until the origin is no longer held, and the error is the origin's`() async throws {
        origin.on("/busy.jpg", .status(429))
        let outcome = try await larder("fetch", origin.url("/busy.jpg"), "--json", "--retries", "1").run()
        #expect(try outcome.error.kind == "SDWebImageErrorDomain 2001", "\(outcome.text)")
        #expect(origin.count("/busy.jpg") == 2)
    }

    @Test func `fetch retries from the start of the body`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        origin.on(
            "/a.jpg", .status(503), .truncated(image + [UInt8](repeating: 7, count: 3000), promised: 9000),
            .body(image))
        let outcome = try await larder("fetch", origin.url("/a.jpg"), "-o", directory.file("out")).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(origin.count("/a.jpg") == 3)
        #expect(try bytes("out") == image, "nothing of the try before is left")
    }

    @Test func `fetch ends at its time limit with exit code 3`() async throws {
        origin.on("/never.jpg", .silent)
        let outcome = try await larder(
            "fetch", origin.url("/never.jpg"), "-o", directory.file("out"), "--max-runtime", "300ms", "--json"
        ).run()
        #expect(outcome.code == 3)
        #expect(try outcome.error.kind == "LarderErrorDomain 3")
        #expect(try directory.names == [])
    }
}
