import Foundation
import TestSupport
import Testing

/// `POST /api/v1/preview` of `larder serve`.
@Suite(.timeLimit(.minutes(5)))
struct DashboardPreviewTests {
    private let scene: Scene
    private let server: RunningCommand
    private let address: String
    private let token = "0123456789abcdefXYZ"

    init() async throws {
        scene = try await Scene()
        try scene.directory.write(token.utf8, to: "token")
        server = try scene.larder([
            "serve", "--listen", "127.0.0.1:0", "--json", "--token-file", scene.directory.file("token"),
            "--allow-changes", "--serve-cache",
        ]).start()
        #expect(await server.reaches { $0.outputSoFar.contains(UInt8(ascii: "\n")) })
        let line = String(decoding: server.outputSoFar, as: UTF8.self)
        address = "http://127.0.0.1:\(try #require(line.firstMatch(of: /"port":(\d+)/)).1)/api/v1/preview"
    }

    /// The status and the object.
    private func preview(_ body: String) async throws -> (status: Int, answer: [String: Any]) {
        let outcome = try await RunningCommand(
            "/usr/bin/curl",
            [
                "-s", "-w", "%{http_code}", "-H", "Authorization: Bearer \(token)", "-H",
                "Content-Type: application/json", "-d", body, address,
            ], environment: [:]
        ).outcome()
        let object = try JSONSerialization.jsonObject(with: Data(outcome.text.dropLast(3).utf8))
        return (Int(outcome.text.suffix(3)) ?? 0, try #require(object as? [String: Any]))
    }

    private func body(_ url: String, _ variants: String...) -> String {
        "{\"url\": \"\(url)\", \"variants\": [\(variants.joined(separator: ","))]}"
    }

    @Test func `variants have the keys and bytes that a worker stores, and nothing is stored`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let (status, answer) = try await preview(body(url, Variants.small, Variants.thumb))
        #expect(status == 200, "\(answer)")
        let source = try #require(answer["source"] as? [String: Any])
        #expect(source["cached"] as? Bool == false)
        #expect(source["format"] as? String == "jpeg")
        let variants = try #require(answer["variants"] as? [[String: Any]])
        #expect(variants.map { $0["name"] as? String } == ["small", "thumb"])
        #expect(variants.allSatisfy { ($0["ms"] as? Int ?? -1) >= 0 && $0["error"] == nil })
        #expect(scene.stored.isEmpty)
        #expect(try await scene.sql("SELECT count(*) FROM larder.action") == "0")

        #expect(try await scene.larder("run", url, "--variant", Variants.small).code == 0)
        let stored = try #require(try await scene.sql("SELECT path FROM larder.stored_file WHERE variant = 'small'"))
        let data = try #require((variants[0]["data"] as? String)?.split(separator: ",").last)
        #expect(Data(base64Encoded: String(data)).map(Array.init) == (try scene.bytes(stored)))
        #expect(stored.hasSuffix("/\(variants[0]["file"] as? String ?? "-")"))
        // Now from the cache: the origin is not asked again.
        let asked = scene.origin.count("/a.jpg")
        let again = try await preview(body(url, Variants.small)).answer["source"] as? [String: Any]
        #expect(again?["cached"] as? Bool == true)
        #expect(scene.origin.count("/a.jpg") == asked)
    }

    /// A body with a file, which curl reads from disk.
    private func body(file: [UInt8], _ variants: String...) throws -> String {
        let data = Data(file).base64EncodedString()
        let text = "{\"file\": \"\(data)\", \"variants\": [\(variants.joined(separator: ","))]}"
        return "@" + (try scene.directory.write(text.utf8, to: "body"))
    }

    @Test func `a file has the variants of the same image of a URL, without keys`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        let ofURL = try await preview(body(try scene.serve("plain.jpg", at: "/a.jpg"), Variants.small)).answer
        let (status, answer) = try await preview(try body(file: image, Variants.small))
        #expect(status == 200, "\(answer)")
        let source = try #require(answer["source"] as? [String: Any])
        #expect(source["key"] is NSNull)
        #expect(source["cached"] as? Bool == false)
        #expect(source["bytes"] as? Int == image.count)
        func variant(_ answer: [String: Any]) -> [String: Any]? { (answer["variants"] as? [[String: Any]])?.first }
        let made = try #require(variant(answer))
        #expect(made["key"] is NSNull)
        #expect(made["data"] as? String == variant(ofURL)?["data"] as? String)
        #expect(scene.stored.isEmpty)
    }

    @Test func `a file that is too large or no image is refused with its code`() async throws {
        let limit = 8 << 20
        var large = try TestImage.bytes("plain.jpg")
        large += [UInt8](repeating: 0, count: limit - large.count)
        // Bytes after the end of a JPEG are no part of it.
        let (status, answer) = try await preview(try body(file: large, Variants.small))
        #expect(status == 200, "\(answer["error"] ?? "")")
        for (file, status, domain, code) in [
            (large + [0], 400, "LarderErrorDomain", 201),
            ([UInt8](repeating: 0, count: 2 * limit), 413, "LarderErrorDomain", 1),
            (Array("no image".utf8), 422, "SDWebImageErrorDomain", 1001),
            (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), 422, "SDWebImageErrorDomain", 1001),
        ] {
            let refused = try await preview(try body(file: file, Variants.small))
            let error = refused.answer["error"] as? [String: Any]
            #expect(refused.status == status, "\(file.count) bytes: \(refused)")
            #expect(error?["domain"] as? String == domain, "\(file.count) bytes: \(refused)")
            #expect(error?["code"] as? Int == code, "\(file.count) bytes: \(refused)")
        }
        for source in [#""file":"""#, #""file":"*""#, #""file":"AA==","url":"a""#] {
            #expect(try await preview("{\(source),\"variants\":[]}").status == 400, "\(source)")
        }
        // The longer bodies are for those who may make a preview.
        let outcome = try await RunningCommand(
            "/usr/bin/curl",
            ["-s", "-H", "Content-Type: application/json", "-d", try body(file: large, Variants.small), address],
            environment: [:]
        ).outcome()
        #expect(outcome.text.contains("the body of the request is too long"))
    }

    @Test func `an image that cannot be had, a variant that cannot be made and a wrong body are said`() async throws {
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let wrong = #"{"name":"outside","transform":[{"type":"crop","x":9000,"y":0,"width":8,"height":8}]}"#
        let (_, answer) = try await preview(body(url, Variants.small, wrong))
        let variants = try #require(answer["variants"] as? [[String: Any]])
        #expect(variants[0]["error"] == nil)
        let error = try #require(variants[1]["error"] as? [String: Any])
        #expect(error["domain"] as? String == "LarderErrorDomain", "\(error)")
        #expect(variants[1]["data"] == nil, "\(error)")
        for (body, message) in [
            (body(scene.origin.url("/none.jpg"), Variants.small), "404"),
            (body("http://10.0.0.1/a.jpg", Variants.small), "refused address"),
            (body(url, #"{"name":"x","thumbnail":7}"#), "variant 1"), ("{}", "the body needs 'url'"),
            ("nothing", "the body needs 'url'"), (body(""), "the body needs 'url'"),
            (body(url, "7"), "variant 1"),
        ] {
            let (status, answer) = try await preview(body)
            let error = answer["error"] as? [String: Any]
            #expect([400, 422].contains(status), "\(body): \(answer)")
            #expect((error?["message"] as? String)?.contains(message) == true, "\(body): \(answer)")
        }
        server.signal(SIGTERM)
        #expect(await server.outcome().code == 0)
    }
}
