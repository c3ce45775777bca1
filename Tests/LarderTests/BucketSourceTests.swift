import Foundation
import ImageModel
import TestSupport
import Testing

/// `s3://` URLs as sources of images, and lists in a bucket, against moto.
@Suite(.enabled(if: MotoServer.isEnabled, "make object-stores"), .timeLimit(.minutes(5)))
struct BucketSourceTests {
    private let scene: Scene
    private let bucket = "test-" + UUID().uuidString.lowercased()

    init() async throws {
        scene = try await Scene()
        try await MotoServer.call("PUT", bucket)
    }

    /// Runs a command that may read the objects below `prefix`.
    private func larder(_ arguments: String..., below prefix: String? = "in") async throws -> CommandOutcome {
        var command = scene.larder(arguments)
        command.environment["LARDER_S3_ENDPOINT"] = "http://127.0.0.1:\(try await MotoServer.port())"
        command.environment["LARDER_IDLE_TIMEOUT"] = "240s"
        command.environment["LARDER_TOTAL_TIMEOUT"] = "240s"
        command.environment["AWS_ACCESS_KEY_ID"] = "id"
        command.environment["AWS_SECRET_ACCESS_KEY"] = "secret"
        if let prefix { command.environment["LARDER_ALLOW_BUCKET"] = "s3://\(bucket)/\(prefix)" }
        return try await command.run()
    }

    private func put(_ path: String, _ bytes: [UInt8]) async throws {
        try await MotoServer.call("PUT", "\(bucket)/\(path)", bytes: bytes)
    }

    private func inject(_ faults: String...) async throws {
        let json = String(decoding: try JSONEncoder().encode(faults), as: UTF8.self)
        try await MotoServer.call("POST", "larder/faults/\(bucket)", json)
    }

    @Test func `an object is downloaded once, under its URL as the key, and again after 503`() async throws {
        // The key of the object has these characters as they are; a request has them escaped.
        let url = "s3://\(bucket)/in/a b?c#1+%2F.jpg"
        let image = try TestImage.bytes("plain.jpg")
        try await put("in/a%20b%3Fc%231%2B%252F.jpg", image)
        try await inject("slow down")
        for _ in 0..<2 {
            let run = try await larder("run", url, "--json")
            #expect(run.code == 0, "\(run.text)\(run.errorText)")
            let line = try #require(run.lines.first)
            #expect(line.contains(#""outcome":"succeeded""#), "\(line)")
        }
        let path = try #require(try await larder("cache", "path", url).lines.first)
        #expect(try [UInt8](Data(contentsOf: URL(filePath: path))) == image)
        let gets = try await MotoServer.call("GET", "larder/requests/\(bucket)").split(separator: "\n")
            .filter { $0.hasPrefix("GET") }
        #expect(gets.count == 2, "\(gets)")
    }

    @Test func `the error says in words that a bucket is not open, missing or refused`() async throws {
        try await put("out.jpg", try TestImage.bytes("plain.jpg"))
        for prefix in ["in", nil] {
            let closed = try await larder("run", "s3://\(bucket)/out.jpg", "--json", below: prefix)
            #expect(closed.code == 1, "\(closed.text)")
            #expect(closed.text.contains(#""code":101"#), "\(closed.text)")
            #expect(closed.text.contains("--allow-bucket s3://\(bucket)"), "\(closed.text)")
        }
        let missing = try await larder("run", "s3://\(bucket)/in/none.jpg", "--json")
        #expect(missing.code == 1, "\(missing.text)")
        #expect(missing.text.contains(#""code":2001"#), "\(missing.text)")
        // The download is refused, and the request that asks why.
        try await inject("denied", "denied")
        let denied = try await larder("fetch", "s3://\(bucket)/in/a.jpg", "--retries", "0", "--json")
        #expect(denied.text.contains(#""code":2001"#), "\(denied.text)")
        #expect(denied.text.contains("AccessDenied"), "\(denied.text)")
        try await inject("skew", "skew")
        let skewed = try await larder("fetch", "s3://\(bucket)/in/a.jpg", "--retries", "0", "--json")
        #expect(skewed.text.contains(#""code":501"#), "\(skewed.text)")
        #expect(skewed.text.contains("RequestTimeTooSkewed"), "\(skewed.text)")
        let bad = try await larder("enqueue", "s3://", "--json")
        #expect(bad.code == 1, "\(bad.text)")
        #expect(bad.text.contains("invalid"), "\(bad.text)")
    }

    @Test func `a list is read from a bucket, in the format of its name`() async throws {
        try await put("lists/urls.csv", Array("url,priority\nhttp://a.example/1.jpg,2\ns3://b/c.jpg,3\n".utf8))
        let list = try await larder("enqueue", "--from", "s3://\(bucket)/lists/urls.csv", "--batch", "b", "--json")
        #expect(list.code == 0, "\(list.text)\(list.errorText)")
        #expect(list.text.contains("http://a.example/1.jpg"), "\(list.text)\(list.errorText)")
        #expect(list.lines.count { $0.contains("inserted") } == 2, "\(list.text)")
        let missing = try await larder("enqueue", "--from", "s3://\(bucket)/none", "--batch", "c")
        #expect(missing.code == 1, "\(missing.errorText)")
        #expect(missing.errorText.contains("there is no such object"), "\(missing.errorText)")
        let bucketOnly = try await larder("enqueue", "--from", "s3://\(bucket)", "--batch", "c")
        #expect(bucketOnly.code == 2, "\(bucketOnly.errorText)")
    }
}
