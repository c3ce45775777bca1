import Foundation
import TestSupport
import Testing

/// The cache served by nginx with the configuration of deploy/nginx.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NginxServer.program != nil, "nginx is not installed"))
struct ServingTests {
    private let directory: TemporaryDirectory
    private let origin: OriginServer
    private let nginx: NginxServer
    private var cache: String { directory.file("cache") }

    /// Keys with unusual file extensions, and their images.
    private static let files = [
        ("https://a.example/x/plain.jpg?w=1&q={2}", "plain.jpg"),
        ("https://a.example/thumb-SDImageResizingTransformer({10.000000,10.000000},2)", "alpha.png"),
        ("http://a.example/PLAIN", "still.webp"), ("http://a.example/plain", "still.gif"),
        ("https://a.example/money.p$ng", "rgb.png"), ("https://a.example/q\".\\;x", "grey.jpg"),
        ("https://a.example/é 図.图", "still.avif"), ("no address", "rgb.png"),
        ("http://a.example/x/plain.jpg?w=1&q={2}", "rgb.png"),
        ("https://a.example/" + String(repeating: "long", count: 1500), "rgb.png"),
    ]

    /// The format that a manifest names.
    private static func format(of image: String) -> String {
        image.split(separator: ".").last.map { $0 == "jpg" ? "jpeg" : String($0) } ?? ""
    }

    init() async throws {
        directory = try TemporaryDirectory(open: true)
        origin = try OriginServer()
        let environment = ["LARDER_HOME": directory.file("home"), "LARDER_CACHE": directory.file("cache")]
        let place = directory.file("cache/default")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        var manifest = ""
        for (key, image) in Self.files {
            var command = LarderCommand(environment: environment)
            command.arguments = ["key", key]
            let file = try #require(try fields(try await command.run().lines[0])["file"] as? String)
            try Data(try TestImage.bytes(image)).write(to: URL(filePath: place + "/" + file))
            let line = try JSONSerialization.data(
                withJSONObject: ["key": key, "file": file, "bytes": 1, "sha256": "", "format": Self.format(of: image)])
            manifest += String(decoding: line, as: UTF8.self) + "\n"
        }
        try directory.write(manifest.utf8, to: "manifest")
        let outcome = try await RunningCommand(
            PackageRoot.path + "/deploy/nginx/larder-map", [], environment: ["PATH": "/usr/bin:/bin"],
            input: Array(manifest.utf8)
        ).outcome()
        try #require(outcome.code == 0, "\(outcome.errorText)")
        #expect(
            outcome.errorText
                == "7 files; 1 left out: not an http or https URL; 1 left out: same path as another key; "
                + "1 left out: too long for nginx\n")
        try directory.write(outcome.output, to: "map.conf")

        let text = try String(contentsOfFile: PackageRoot.path + "/deploy/nginx/larder.conf", encoding: .utf8)
        let map = directory.file("map.conf"), cache = directory.file("cache"), service = origin.port
        nginx = try NginxServer { port in
            text.replacing("/etc/nginx/larder-map.conf", with: map).replacing(
                "127.0.0.1:8088", with: "127.0.0.1:\(port)"
            )
            .replacing("/var/lib/larder/cache", with: cache)
            .replacing(
                "# location /images/ { proxy_pass http://127.0.0.1:9000; }",
                with: "location /images/ { proxy_pass http://127.0.0.1:\(service); }")
        }
    }

    /// The headers and the body of a request with curl.
    private func get(_ address: String, _ options: String...) async throws -> (head: String, body: [UInt8]) {
        let body = directory.file("body-\(UUID().uuidString)")
        let outcome = try await RunningCommand(
            "/usr/bin/curl",
            ["-sS", "--globoff", "--path-as-is", "-D", "-", "-o", body] + options + [nginx.url(address)],
            environment: [:], input: []
        ).outcome()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        return (outcome.text.lowercased(), Array((try? Data(contentsOf: URL(filePath: body))) ?? Data()))
    }

    @Test func `nginx serves every image with its own media type`() async throws {
        let expected = [
            ("/a.example/x/plain.jpg?w=1&q={2}", "plain.jpg", "jpeg"),
            ("/a.example/thumb-SDImageResizingTransformer({10.000000,10.000000},2)", "alpha.png", "png"),
            ("/a.example/thumb-SDImageResizingTransformer(%7B10.000000,10.000000%7D,2)", "alpha.png", "png"),
            ("/a.example/PLAIN", "still.webp", "webp"), ("/a.example/plain", "still.gif", "gif"),
            ("/a.example/money.p$ng", "rgb.png", "png"), ("/a.example/q%22.\\;x", "grey.jpg", "jpeg"),
            ("/a.example/%C3%A9%20%E5%9B%B3.%E5%9B%BE", "still.avif", "avif"),
        ]
        for (address, image, type) in expected {
            let (head, body) = try await get(address)
            #expect(head.contains(" 200 "), "\(address): \(head)")
            #expect(head.contains("\r\ncontent-type: image/\(type)\r\n"), "\(address): \(head)")
            #expect(head.components(separatedBy: "content-type:").count == 2, "once")
            #expect(head.contains("\r\netag: "))
            #expect(head.contains("\r\naccept-ranges: bytes"))
            #expect(body == (try TestImage.bytes(image)), "\(address)")
        }
    }

    @Test func `nginx answers ranges and entity tags and serves no other files`() async throws {
        let address = "/a.example/plain"
        let part = try await get(address, "-r", "2-5")
        let middle = Array(try TestImage.bytes("still.gif")[2...5])
        #expect(part.head.contains(" 206 "))
        #expect(part.body == middle)
        let whole = try await get(address)
        let tag = try #require(whole.head.firstMatch(of: /etag: ("[^"]*")/)).1
        #expect(try await get(address, "-H", "If-None-Match: \(tag)").head.contains(" 304 "))
        for other in [
            "/", "/a.example/none", "/default/", "/.larder-cache-id", "/default/../.larder-cache-id",
            "/larder-file/default/x",
        ] {
            #expect(try await get(other).head.contains(" 404 "), "\(other)")
        }
        #expect(try await get(address, "-X", "POST", "-d", "x").head.contains(" 403 "))
    }

    @Test func `a service can hand over a file with X-Accel-Redirect`() async throws {
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: cache + "/default").first { $0.hasSuffix(".p$ng") })
        let escaped = name.replacing("$", with: "%24")
        origin.on(
            "/images/7",
            .body([], [("X-Accel-Redirect", "/larder-file/default/\(escaped)"), ("Content-Type", "image/png")]))
        let (head, body) = try await get("/images/7")
        #expect(head.contains(" 200 "), "\(head)")
        #expect(head.contains("content-type: image/png"), "\(head)")
        #expect(body == (try TestImage.bytes("rgb.png")))
    }
}
