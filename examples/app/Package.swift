// swift-tools-version: 5.9
import PackageDescription

// On Linux the package has only the part that needs no SDWebImage.
#if os(Linux)
    let dependencies: [Package.Dependency] = []
    let products: [Target.Dependency] = []
#else
    let dependencies: [Package.Dependency] = [
        .package(url: "https://github.com/SDWebImage/SDWebImage.git", from: "5.21.5")
    ]
    let products: [Target.Dependency] = [.product(name: "SDWebImage", package: "SDWebImage")]
#endif

let package = Package(
    name: "PrefetchedImages", platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8)],
    products: [.library(name: "PrefetchedImages", targets: ["PrefetchedImages"])],
    dependencies: dependencies,
    targets: [
        .target(name: "PrefetchedImages", dependencies: products),
        .executableTarget(name: "find-image", dependencies: ["PrefetchedImages"]),
    ])
