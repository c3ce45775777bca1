import Foundation
import Testing

/// The files of this test target.
enum Fixtures {
    static func rows(_ file: String, _ list: String) throws -> [[String: Any]] {
        let path = Bundle.module.bundlePath + "/Vectors/" + file
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
        return try #require((object as? [String: Any])?[list] as? [[String: Any]])
    }

    /// The bytes of an image of TranscoderTests.
    static func image(_ name: String) throws -> [UInt8] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return Array(try Data(contentsOf: tests.appending(path: "TranscoderTests/Images/\(name)")))
    }
}
