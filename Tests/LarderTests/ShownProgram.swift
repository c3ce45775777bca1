import Foundation
import TestSupport

/// Checks programs that pages show, without running them.
struct ShownProgram {
    struct NotCompiled: Error { let faults: String }

    /// What an app's code calls of SDWebImage.
    private static let sdWebImage = """
        public final class SDImageCache {
            nonisolated(unsafe) public static let shared = SDImageCache()
            public var additionalCachePathBlock: ((String) -> String?)?
            public func cachePath(forKey key: String?) -> String? { key }
        }
        """
    private static let foundationHeader = """
        #define nil ((void *)0)
        @interface NSString
        @property (readonly) NSString *lastPathComponent;
        - (NSString *)stringByAppendingPathComponent:(NSString *)part;
        @end
        @interface NSBundle
        @property (class, readonly) NSBundle *mainBundle;
        @property (readonly) NSString *bundlePath;
        @end
        """
    private static let sdWebImageHeader = """
        @interface SDImageCache
        @property (class, readonly) SDImageCache *sharedImageCache;
        @property (copy) NSString *(^additionalCachePathBlock)(NSString *key);
        - (NSString *)cachePathForKey:(NSString *)key;
        @end
        """

    private let directory: TemporaryDirectory
    /// Where the compiler finds the modules of this package and the C modules behind them.
    private let modules: [String]

    /// Compiles the modules of an app: a SDWebImage with what pages call, and the package of examples/app on it.
    init() async throws {
        directory = try TemporaryDirectory()
        let built = Products.directory
        var maps = try FileManager.default.contentsOfDirectory(atPath: built).filter { $0.hasSuffix(".build") }
            .map { "\(built)/\($0)/module.modulemap" }
        let sources = PackageRoot.path + "/Sources"
        maps += try FileManager.default.contentsOfDirectory(atPath: sources).map { "\(sources)/\($0)/module.modulemap" }
        let headers = try await SystemTool.run(["pkg-config", "--cflags-only-I", "vips", "glib-2.0", "libpq"])
        let options =
            maps.filter { FileManager.default.fileExists(atPath: $0) }.map { "-fmodule-map-file=" + $0 }
            + headers.split(whereSeparator: \.isWhitespace).map(String.init)
        modules = ["-I", built + "/Modules", "-I", directory.path] + options.flatMap { ["-Xcc", $0] }

        try directory.write(Self.sdWebImage.utf8, to: "SDWebImage.swift")
        try await module("SDWebImage", of: [directory.file("SDWebImage.swift")])
        let package = PackageRoot.path + "/examples/app/Sources/PrefetchedImages"
        let files = try FileManager.default.contentsOfDirectory(atPath: package).map { "\(package)/\($0)" }
        try await module("PrefetchedImages", of: files)
        for (framework, header) in [("Foundation", Self.foundationHeader), ("SDWebImage", Self.sdWebImageHeader)] {
            let include = directory.file("include/" + framework)
            try FileManager.default.createDirectory(atPath: include, withIntermediateDirectories: true)
            try directory.write(header.utf8, to: "include/\(framework)/\(framework).h")
        }
    }

    /// Compiles a module with what a program calls of a package.
    func add(_ name: String, _ text: String) async throws {
        try directory.write(text.utf8, to: name + ".swift")
        try await module(name, of: [file(name + ".swift")])
    }

    /// What the Swift compiler says of a program; empty when it is correct.
    func faults(ofSwift text: String) async throws -> String {
        try directory.write(text.utf8, to: "main.swift")
        return try await compiler(["swiftc", "-typecheck", "-swift-version", "6"] + modules + [file("main.swift")])
    }

    /// What clang says of a file in Objective-C.
    func faults(ofObjectiveC text: String) async throws -> String {
        try directory.write(text.utf8, to: "main.m")
        let target = ["-target", "arm64-apple-ios15", "-fobjc-arc", "-fblocks", "-Wall", "-Werror"]
        return try await compiler(["clang", "-fsyntax-only"] + target + ["-I", file("include"), file("main.m")])
    }

    private func file(_ name: String) -> String { directory.file(name) }

    private func module(_ name: String, of files: [String]) async throws {
        let output = ["-emit-module-path", file(name + ".swiftmodule"), "-module-name", name, "-parse-as-library"]
        let faults = try await compiler(["swiftc", "-emit-module", "-I", directory.path] + output + files)
        guard faults.isEmpty else { throw NotCompiled(faults: "\(name): \(faults)") }
    }

    private func compiler(_ command: [String]) async throws -> String {
        let environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory.path]) { $1 }
        let outcome = try await RunningCommand("/usr/bin/env", command, environment: environment).outcome()
        return outcome.code == 0 ? "" : "\(outcome.text)\(outcome.errorText)"
    }
}
