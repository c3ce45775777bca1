import Foundation

/// The targets of Package.swift with the targets and system libraries that each depends on.
struct PackageManifest {
    struct Target {
        let name: String
        let dependencies: [String]
    }

    let root: String
    let targets: [Target]

    /// Reads Package.swift as text: `swift package dump-package` would wait for the build that runs this test.
    init() throws {
        root = String(#filePath.split(separator: "/Tests/", maxSplits: 1)[0])
        let text = try String(contentsOfFile: root + "/Package.swift", encoding: .utf8)
        let declaration = /\.(?:target|executableTarget|systemLibrary)\(\s*name: "([\w-]+)"/
        let starts = text.matches(of: declaration)
        targets = starts.enumerated().map { index, match in
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : text.endIndex
            let body = text[match.range.upperBound..<end].prefix { $0 != ")" }
            let list = body.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
            return Target(name: String(match.1), dependencies: list.matches(of: /"(\w+)"/).map { String($0.1) })
        }
    }

    func dependencies(of name: String) -> Set<String> {
        Set(targets.first { $0.name == name }?.dependencies ?? [])
    }

    /// The Swift files of a target below `Sources`.
    func sources(of name: String) -> [String] {
        let directory = "\(root)/Sources/\(name)"
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return files.filter { $0.hasSuffix(".swift") }.map { "\(directory)/\($0)" }
    }
}
