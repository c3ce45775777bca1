import Foundation
import PackagePlugin

/// Embeds the text files of a target's directory `Resources` or `Migrations` as strings. SwiftPM's own `embedInCode`
/// writes arrays of bytes, for which the compiler takes half a minute.
@main
struct EmbedText: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let script = context.package.directoryURL.appending(path: "scripts/embed-text")
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedText.swift")
        var files: [URL] = []
        for name in ["Migrations", "Resources"] {
            let directory = target.directoryURL.appending(path: name).resolvingSymlinksInPath()
            guard FileManager.default.fileExists(atPath: directory.path()) else { continue }
            files += try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
                .filter { ["sql", "js", "css", "json"].contains($0.pathExtension) }
        }
        files.sort { $0.lastPathComponent < $1.lastPathComponent }
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) files", executable: script,
                arguments: [output.path()] + files.map { $0.path() }, inputFiles: [script] + files,
                outputFiles: [output])
        ]
    }
}
