import Concurrency
import Foundation
import ObjectStore
import TestSupport
import Testing

/// Credentials from services, against scripted servers.
@Suite(.timeLimit(.minutes(1)))
struct CredentialTests {
    private func json(_ id: String, _ expiration: String) -> OriginReply {
        .body(
            Array(
                #"{"AccessKeyId":"\#(id)","SecretAccessKey":"s","Token":"t","Expiration":"\#(expiration)"}"#.utf8))
    }

    @Test func `a container's are requested again before they expire, and kept when that fails`() async throws {
        let server = try OriginServer()
        server.on("/c", json("one", "2026-11-25T02:00:00Z"), json("two", "2026-11-25T03:00:00Z"), .status(500))
        let directory = try TemporaryDirectory()
        try directory.write("secret token\n".utf8, to: "token")
        let now = Locked(try #require(CredentialAnswer.seconds("2026-11-25T01:00:00Z")))
        let cache = CredentialCache(
            .container(url: server.url("/c"), token: nil, tokenFile: directory.file("token"))
        ) { now.withLock { $0 } }
        #expect(try await cache.key().id == "one")
        #expect(try await cache.key().id == "one")
        #expect(server.requests.first?.headers["authorization"] == "secret token")
        #expect(server.requests.count == 1)
        now.withLock { $0 += 3600 - 299 }
        #expect(try await cache.key().id == "two")
        now.withLock { $0 += 3600 }
        #expect(try await cache.key().id == "two")
        now.withLock { $0 += 3600 }
        await #expect(throws: ObjectStoreError.self) { try await cache.key() }
    }

    @Test func `a token of a web identity is exchanged`() async throws {
        let answer = """
            <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
            <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>id</AccessKeyId>
            <SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken>
            <Expiration>2026-11-25T02:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
            </AssumeRoleWithWebIdentityResponse>
            """
        let server = try OriginServer(["/": .body(Array(answer.utf8))])
        let directory = try TemporaryDirectory()
        try directory.write("jwt".utf8, to: "token")
        let cache = CredentialCache(
            .webIdentity(
                tokenFile: directory.file("token"), role: "arn:aws:iam::1:role/x", session: "larder",
                endpoint: server.url("")))
        let key = try await cache.key()
        #expect(
            key
                == AccessKey(
                    id: "id", secret: "secret", sessionToken: "token",
                    expiration: CredentialAnswer.seconds("2026-11-25T02:00:00Z")))
    }

    @Test func `a container's endpoint elsewhere without TLS is refused`() async throws {
        let cache = CredentialCache(.container(url: "http://10.0.0.1/c", token: nil, tokenFile: nil))
        await #expect { try await cache.key() } throws: { ($0 as? ObjectStoreError)?.code == .noCredentials }
    }
}
