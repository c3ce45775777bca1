import Downloader
import ObjectStore
import Testing

/// The values of the object store, without a server.
@Suite(.timeLimit(.minutes(1)))
struct ObjectStoreValueTests {
    @Test func `an address has a bucket, a prefix and the server's default style`() throws {
        let amazon = try BucketAddress("s3://my-bucket/a//b/", region: "eu-west-1")
        #expect(amazon.bucket == "my-bucket")
        #expect(amazon.prefix == "a/b")
        #expect(!amazon.usesPathStyle)
        #expect(amazon.description == "s3://my-bucket/a/b")
        #expect(try BucketAddress("s3://my.bucket").usesPathStyle)
        #expect(try BucketAddress("s3://bucket", endpoint: "http://127.0.0.1:9000").usesPathStyle)
        #expect(try BucketAddress("gs://bucket").region == "auto")
    }

    @Test(arguments: ["s3:/x", "http://x", "s3://", "s3://a", "s3://a b/c", "s3://../x", "s3://bucket/\u{1}"])
    func `an address is refused`(text: String) {
        #expect { try BucketAddress(text) } throws: { ($0 as? ObjectStoreError)?.code == .invalidAddress }
    }

    @Test(arguments: ["ftp://x", "http://user@x", "http://x/path", "x", "http://x?y"])
    func `an endpoint is refused`(text: String) {
        #expect { try BucketAddress("s3://bucket", endpoint: text) } throws: {
            ($0 as? ObjectStoreError)?.code == .invalidAddress
        }
    }

    @Test(arguments: [
        ("s3://bucket/in/a.jpg", true), ("s3://bucket/in/b..c/..d", true), ("s3://bucket/in", false),
        ("s3://bucket/inside/a.jpg", false), ("s3://bucket/in/../a.jpg", false), ("s3://bucket/in/a/..", false),
        ("s3://other/in/a.jpg", false), ("gs://bucket/in/a.jpg", false),
    ])
    func `an object is below a prefix or not`(object: String, isBelow: Bool) throws {
        let url = try ObjectURL(object)
        let (prefix, bucket) = (try BucketAddress("s3://bucket/in"), try BucketAddress("s3://bucket"))
        #expect(prefix.contains(url) == isBelow)
        #expect(bucket.contains(url) == object.hasPrefix("s3://bucket/"))
    }

    @Test func `pauses double up to the longest, and only what may pass is sent again`() {
        let schedule = RetrySchedule()
        let throttled = ObjectStoreError(.throttled, "")
        #expect(schedule.pause(after: 1, throttled, fraction: 1) == .milliseconds(100))
        #expect(schedule.pause(after: 4, throttled, fraction: 0.5) == .milliseconds(400))
        #expect(schedule.pause(after: 5, throttled, fraction: 1) == nil)
        #expect(schedule.pause(after: 1, ObjectStoreError(.accessDenied, ""), fraction: 1) == nil)
        var patient = schedule
        patient.attempts = 100
        #expect(patient.pause(after: 90, throttled, fraction: 1) == .seconds(5))
    }

    @Test func `a document is parsed with its namespaces and entities, within bounds`() {
        let text = "<?xml version='1.0'?><a:L xmlns:a='x'><K>1&amp;2</K><K>ü</K><E/></a:L>"
        let root = XMLNode(Array(text.utf8))
        #expect(root?.name == "L")
        #expect(root?.all("K").map(\.text) == ["1&2", "ü"])
        #expect(root?["E"]?.text == "")
        #expect(XMLNode(Array("<a><b></a>".utf8)) == nil)
        #expect(XMLNode([]) == nil)
        let deep = String(repeating: "<a>", count: 40) + String(repeating: "</a>", count: 40)
        #expect(XMLNode(Array(deep.utf8)) == nil)
        var bomb = "<!DOCTYPE a [<!ENTITY e0 'aaaaaaaaaa'>"
        for level in 1...9 {
            let references = String(repeating: "&e\(level - 1);", count: 10)
            bomb += "<!ENTITY e\(level) '\(references)'>"
        }
        bomb += "]><a>&e9;</a>"
        #expect(XMLNode(Array(bomb.utf8)) == nil)
    }

    @Test func `a profile is read from the shared credentials file`() throws {
        let text = """
            # comment
            [default]
            aws_access_key_id=one
            aws_secret_access_key = two=
            [ other ]
            AWS_ACCESS_KEY_ID = three
            aws_secret_access_key = four
            aws_session_token = five
            """
        let first = try SharedCredentials.key(of: "default", in: text, path: "f")
        #expect(first == AccessKey(id: "one", secret: "two="))
        let other = try SharedCredentials.key(of: "other", in: text, path: "f")
        #expect(other == AccessKey(id: "three", secret: "four", sessionToken: "five"))
        #expect(throws: ObjectStoreError.self) { try SharedCredentials.key(of: "none", in: text, path: "f") }
    }

    @Test func `the environment names the source of credentials`() throws {
        func source(_ environment: [String: String]) throws -> CredentialSource {
            try CredentialSource(environment: environment, home: "/h", region: "r")
        }
        let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
        #expect(try source(keys) == .fixed(AccessKey(id: "a", secret: "b")))
        #expect(try source([:]) == .file(path: "/h/.aws/credentials", profile: "default"))
        let relative = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"]
        #expect(try source(relative) == .container(url: "http://169.254.170.2/v2/x", token: nil, tokenFile: nil))
        let identity = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn"]
        #expect(
            try source(identity)
                == .webIdentity(
                    tokenFile: "/t", role: "arn", session: "larder", endpoint: "https://sts.r.amazonaws.com"))
        #expect(try source(identity.merging(keys) { $1 }) == source(keys))
        #expect(throws: ObjectStoreError.self) {
            try CredentialSource(environment: [:], home: nil, region: "r")
        }
    }
}
