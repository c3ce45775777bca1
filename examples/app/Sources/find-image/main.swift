import Foundation
import PrefetchedImages

/// Prints the files of keys in a bundle, as an app finds them.
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2 else {
    FileHandle.standardError.write(Data("usage: find-image BUNDLE KEY...\n".utf8))
    exit(2)
}
let bundle = try PrefetchedImages(directory: URL(fileURLWithPath: arguments[0]))
for key in arguments.dropFirst() {
    print(bundle.path(forKey: key) ?? "not in the bundle: \(key)")
}
