import ObjectStore
import TestSupport
import Testing

/// Refusals of HEAD requests, whose responses have no body, by a scripted server.
@Suite(.timeLimit(.minutes(1)))
struct ObjectRefusalTests {
    private func client(
        _ server: OriginServer, _ source: CredentialSource = .fixed(AccessKey(id: "x", secret: "x"))
    ) throws -> ObjectClient {
        var configuration = ObjectClient.Configuration()
        // A busy machine takes its time to respond.
        configuration.idle = .seconds(240)
        configuration.retries.first = .milliseconds(1)
        return ObjectClient(
            try BucketAddress("s3://bucket", endpoint: server.url("")), credentials: CredentialCache(source),
            configuration: configuration)
    }

    private func refusal(_ status: Int, _ word: String) -> OriginReply {
        .body(Array("<Error><Code>\(word)</Code><Message>scripted</Message></Error>".utf8), status: status)
    }

    @Test(arguments: [
        (403, "RequestTimeTooSkewed", "clockSkewed"), (403, "AccessDenied", "accessDenied"),
        (403, "SignatureDoesNotMatch", "badCredentials"), (400, "ExpiredToken", "badCredentials"),
        (400, "AuthorizationHeaderMalformed", "otherRegion"),
    ])
    func `the reason is asked for once`(status: Int, word: String, code: String) async throws {
        let server = try OriginServer()
        server.on("/bucket/a", .status(status), refusal(status, word))
        let client = try client(server)
        await #expect { try await client.head("a") } throws: { error in
            let error = error as? ObjectStoreError
            return error?.code.rawValue == code && error?.message.contains(word) == true
        }
        #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=0-0"])
    }

    @Test(arguments: [206, 416]) func `a refusal stays when the other request is accepted`(status: Int) async throws {
        let server = try OriginServer()
        let reply = OriginReply.body([1], status: status, [("Content-Range", "bytes 0-0/1")])
        server.on("/bucket/a", .status(403), reply)
        let client = try client(server)
        await #expect { try await client.head("a") } throws: { error in
            (error as? ObjectStoreError)?.code == .accessDenied
        }
        #expect(server.requests.count == 2)
    }

    @Test func `the request is sent again when the server failed to give a reason`() async throws {
        let server = try OriginServer()
        server.on("/bucket/a", .status(403), .status(500), .status(404))
        let client = try client(server)
        #expect(try await client.head("a") == nil)
        #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=0-0", nil])
    }

    @Test func `credentials that expired are requested anew, and the request is repeated`() async throws {
        let server = try OriginServer()
        let replies = ["one", "two"].map { id in
            OriginReply.body(Array(#"{"AccessKeyId":"\#(id)","SecretAccessKey":"s"}"#.utf8))
        }
        server.on("/c", replies[0], replies[1])
        server.on("/bucket/a", .status(400), refusal(400, "ExpiredToken"), .status(404))
        let client = try client(server, .container(url: server.url("/c"), token: nil, tokenFile: nil))
        #expect(try await client.head("a") == nil)
        let keys = server.requests.map { request in
            ["one", "two"].first { request.headers["authorization"]?.contains("Credential=\($0)/") ?? false }
        }
        #expect(server.count("/c") == 2)
        #expect(keys.compactMap(\.self) == ["one", "one", "two"])
    }
}
