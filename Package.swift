// swift-tools-version: 6.2
import PackageDescription

/// One list of settings for every Swift target: the strictest the toolchain offers without unsafe flags.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "larder",
    products: [
        .library(name: "JobQueue", targets: ["JobQueue"]),
        .library(name: "Transcoder", targets: ["Transcoder"]),
        .library(name: "DiskCache", targets: ["DiskCache"]),
        .library(name: "Prefetcher", targets: ["Prefetcher"]),
        .executable(name: "larder", targets: ["larder"]),
    ],
    targets: [
        // C libraries, each behind one door: only the Swift target named beside it imports it, GLib excepted.
        // Prefetcher
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CCares", linkerSettings: [.linkedLibrary("cares")]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // Transcoder
        .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(name: "CSpng", pkgConfig: "spng", providers: [.apt(["libspng-dev"])]),
        .target(name: "CPlanes", linkerSettings: [.linkedLibrary("jpeg")]),
        // JobQueue
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // DiskCache (bundles)
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
        // DiskCache (digests), larder (options)
        .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        // What Linux has and Swift cannot see
        .target(name: "CLinux"),

        .target(name: "Executors", dependencies: ["CLinux"], swiftSettings: strict),
        .target(name: "DiskCache", dependencies: ["CGLib", "CArchive", "CLinux"], swiftSettings: strict),
        .target(
            name: "JobQueue", dependencies: ["Executors", "CPostgres"],
            resources: [.embedInCode("Migrations")], swiftSettings: strict),
        .target(
            name: "Transcoder", dependencies: ["Executors", "CVips", "CWebP", "CSpng", "CPlanes", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "Prefetcher",
            dependencies: ["JobQueue", "Transcoder", "DiskCache", "Executors", "CCurl", "CCares", "CCrypto", "CLinux"],
            swiftSettings: strict),
        .target(name: "Measuring", dependencies: ["Executors"], swiftSettings: strict),
        .executableTarget(
            name: "larder",
            dependencies: ["Prefetcher", "JobQueue", "Transcoder", "DiskCache", "Executors", "Measuring", "CGLib"],
            swiftSettings: strict),
        .executableTarget(
            name: "Benchmarks", dependencies: ["Transcoder", "DiskCache", "Executors", "Measuring", "CGLib"],
            path: "Benchmarks", exclude: ["Results", "peers", "dead-origins", "cancelled-batch", "figures.py"],
            swiftSettings: strict),

        .target(
            name: "TestSupport", dependencies: ["JobQueue", "Executors", "CLinux"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(name: "ExecutorsTests", dependencies: ["Executors"], swiftSettings: strict),
        .testTarget(
            name: "DiskCacheTests", dependencies: ["DiskCache", "TestSupport"], resources: [.copy("Vectors")],
            swiftSettings: strict),
        .testTarget(
            name: "JobQueueTests", dependencies: ["JobQueue", "TestSupport", "Executors"], swiftSettings: strict),
        .testTarget(
            name: "TranscoderTests", dependencies: ["Transcoder", "TestSupport"],
            resources: [.copy("Vectors"), .copy("Pictures")], swiftSettings: strict),
        .testTarget(
            name: "PrefetcherTests",
            dependencies: ["Prefetcher", "DiskCache", "JobQueue", "Transcoder", "TestSupport"],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "LarderTests", dependencies: ["Executors", "JobQueue", "TestSupport", "larder"], swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
