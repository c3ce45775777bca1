import Foundation
import Glibc
import ImageModel
import Testing

@testable import Transcoder

/// The files of this test target.
enum Fixtures {
    static func path(_ name: String) -> String { Bundle.module.bundlePath + "/" + name }

    static func image(_ name: String) throws -> [UInt8] { try bytes(path("Images/\(name)")) }

    static func rows(_ file: String, _ list: String) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data(try bytes(path("Vectors/\(file)"))))
        return try #require((object as? [String: Any])?[list] as? [[String: Any]])
    }

    static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// The directory of SDWebImage's test images, which are not part of this repository; nil when it is missing.
    static let shared: String? = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let home =
            ProcessInfo.processInfo.environment["LARDER_SHARED"]
            ?? root.deletingLastPathComponent().appendingPathComponent("shared").path
        let images = home + "/spec/images"
        let isThere = FileManager.default.fileExists(atPath: images)
        if !isThere { print("tests with SDWebImage's images do not run: \(images) is not there") }
        return isThere ? images : nil
    }()
}

/// A file without a name, open for reading and writing.
struct ScratchFile: ~Copyable {
    let descriptor: Int32

    init(_ content: [UInt8] = []) throws {
        var name = Array((NSTemporaryDirectory() + "/larder-XXXXXX").utf8CString)
        descriptor = mkstemp(&name)
        try #require(descriptor >= 0)
        unlink(name)
        #expect(write(descriptor, content, content.count) == content.count)
    }

    deinit { close(descriptor) }

    /// The bytes of a file.
    static func content(_ descriptor: Int32) -> [UInt8] {
        let length = Int(lseek(descriptor, 0, SEEK_END))
        var bytes = [UInt8](repeating: 0, count: length)
        let read = pread(descriptor, &bytes, length, 0)
        return Array(bytes.prefix(max(0, read)))
    }
}

func isClose(_ pixel: [Int], _ expected: [Int], within tolerance: Int) -> Bool {
    zip(pixel, expected).allSatisfy { abs($0 - $1) <= tolerance }
}
