import Downloader
import Foundation
import ObjectStore
import TestSupport
import Testing

/// The signer against botocore's; `Vectors/signatures.py` wrote the vectors.
@Suite(.timeLimit(.minutes(1)))
struct SignatureTests {
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        let name, method, host, path, payload, region, secret, authorization: String
        let query, headers: [[String]]
        let token: String?
        let time: Int
        var testDescription: String { name }

        static let all: [Vector] = {
            let path = PackageRoot.path + "/Tests/ObjectStoreTests/Vectors/signatures.json"
            return (try? JSONDecoder().decode([Vector].self, from: Data(contentsOf: URL(filePath: path)))) ?? []
        }()
    }

    @Test func `there are vectors`() { #expect(Vector.all.count == 18) }

    @Test(arguments: Vector.all) func `a signature is botocore's`(vector: Vector) throws {
        let signer = SignatureV4(
            key: AccessKey(id: "AKIDEXAMPLE", secret: vector.secret, sessionToken: vector.token),
            region: vector.region)
        let headers = try #require(
            signer.headers(
                for: SignatureV4.Request(
                    method: vector.method, host: vector.host, path: vector.path,
                    query: vector.query.map { ($0[0], $0[1]) },
                    headers: vector.headers.map { HeaderField($0[0], $0[1]) }, payload: vector.payload),
                at: vector.time))
        #expect(headers["Authorization"] == vector.authorization)
        #expect(headers["x-amz-date"] == "20261125T010203Z")
        #expect(headers["x-amz-content-sha256"] == vector.payload)
        #expect(headers["x-amz-security-token"] == vector.token)
    }

    @Test func `a path is encoded as it is signed`() {
        let vector = Vector.all.first { $0.name.hasPrefix("every printable character of ASCII in a key") }
        let ascii = String(decoding: UInt8(0x20)..<0x7f, as: UTF8.self)
        #expect("/" + URIEscape.path("p/" + ascii) == vector?.path)
        #expect(URIEscape.decoded(URIEscape.query(ascii + "图")) == ascii + "图")
    }
}
