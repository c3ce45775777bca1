import Foundation
import PrefetchedImages

/// Prints the files of keys in a bundle, as an app finds them. With --install the images are first copied into the
/// directory CACHES, as into an app's caches, and the files are those in it.
var arguments = Array(CommandLine.arguments.dropFirst())
var caches: URL?
if arguments.count >= 2, arguments[0] == "--install" {
    caches = URL(fileURLWithPath: arguments[1], isDirectory: true)
    arguments.removeFirst(2)
}
guard arguments.count >= 2 else {
    FileHandle.standardError.write(Data("usage: find-image [--install CACHES] BUNDLE KEY...\n".utf8))
    exit(2)
}
let bundle = try PrefetchedImages(directory: URL(fileURLWithPath: arguments[0]))
if let caches { print("copied: \(try bundle.install(into: caches))") }
let installed = caches?.appendingPathComponent(bundle.imageDirectory.lastPathComponent, isDirectory: true)
for key in arguments.dropFirst() {
    let file = bundle.image(forKey: key).flatMap { installed?.appendingPathComponent($0.file).path }
    print(file ?? bundle.path(forKey: key) ?? "not in the bundle: \(key)")
}
