import Foundation
import Glibc

/// The programs built together with the tests.
public enum Products {
    /// The directory that the running test bundle lies in.
    public static let directory: String = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let program = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = URL(filePath: program).deletingLastPathComponent().path
        // Run by a helper of the toolchain, the bundle is its argument.
        if FileManager.default.fileExists(atPath: folder + "/larder") { return folder }
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? program
        return URL(filePath: bundle).deletingLastPathComponent().path
    }()

    /// The `larder` program.
    public static var larder: String { directory + "/larder" }

    /// The program of the children that decode.
    public static var transcoder: String { directory + "/larder-transcoder" }
}

/// The small images of the tests.
public enum TestImage {
    /// The bytes of `Tests/TranscoderTests/Images/<name>`.
    public static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: PackageRoot.path + "/Tests/TranscoderTests/Images/" + name)))
    }
}
