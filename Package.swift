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
        .library(name: "Prefetcher", targets: ["Prefetcher", "Downloader"]),
        .library(name: "Transcoder", targets: ["Transcoder"]),
        .library(name: "JobQueue", targets: ["JobQueue"]),
        .library(name: "DiskCache", targets: ["DiskCache"]),
        .executable(name: "larder", targets: ["larder"]),
    ],
    targets: [
        // C libraries, each behind one door: only the Swift target named beside it imports it, GLib excepted.
        // ImageModel
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // Downloader
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CCares", linkerSettings: [.linkedLibrary("cares")]),
        // Transcoder
        .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(name: "CAVIF", providers: [.apt(["libavif-dev"])]),
        .systemLibrary(name: "CSpng", pkgConfig: "spng", providers: [.apt(["libspng-dev"])]),
        .target(name: "CPlanes", linkerSettings: [.linkedLibrary("jpeg")]),
        // JobQueue
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // DiskCache (bundles)
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
        // DiskCache (MD5, names), larder (options)
        .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        // ObjectStore
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        // larder (lists)
        .systemLibrary(name: "CCSV", providers: [.apt(["libcsv-dev"])]),
        // larder (configuration files)
        .target(name: "CTOML"),
        // larder (endpoint)
        .target(name: "CMicroHTTPD", linkerSettings: [.linkedLibrary("microhttpd")]),
        // What Linux has and Swift cannot see
        .target(name: "CLinux"),

        .target(name: "ImageModel", dependencies: ["CCrypto"], swiftSettings: strict),
        .target(name: "Concurrency", dependencies: ["CLinux"], swiftSettings: strict),
        .target(
            name: "Downloader",
            dependencies: ["ImageModel", "Concurrency", "CCurl", "CCares", "CLinux"], swiftSettings: strict),
        .target(
            name: "DiskCache", dependencies: ["ImageModel", "Concurrency", "CGLib", "CArchive", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "ObjectStore",
            dependencies: ["ImageModel", "Concurrency", "Downloader", "DiskCache", "CExpat"], swiftSettings: strict),
        .target(
            name: "Transcoder",
            dependencies: ["ImageModel", "Concurrency", "CVips", "CWebP", "CAVIF", "CSpng", "CPlanes", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "Prefetcher",
            dependencies: ["ImageModel", "Concurrency", "Downloader", "DiskCache", "Transcoder"],
            swiftSettings: strict),
        .target(
            name: "JobQueue", dependencies: ["ImageModel", "Concurrency", "CPostgres"],
            resources: [.embedInCode("Migrations")], swiftSettings: strict),
        .target(
            name: "EmbeddedPostgres", dependencies: ["ImageModel", "Concurrency", "JobQueue"], swiftSettings: strict),
        .target(
            name: "Worker",
            dependencies: ["ImageModel", "Concurrency", "DiskCache", "Downloader", "Prefetcher", "JobQueue"],
            swiftSettings: strict),
        .target(name: "Measuring", dependencies: ["Concurrency"], swiftSettings: strict),
        .executableTarget(
            name: "larder",
            dependencies: [
                "Worker", "Prefetcher", "JobQueue", "EmbeddedPostgres", "Downloader", "Transcoder", "ObjectStore",
                "DiskCache",
                "ImageModel",
                "Concurrency", "Measuring", "CLinux", "CGLib", "CCSV", "CTOML", "CMicroHTTPD",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Downloader", "ImageModel", "Transcoder", "DiskCache", "Concurrency", "Measuring", "CGLib",
            ],
            path: "Benchmarks",
            exclude: [
                "Results", "peers", "dead-origins", "cancelled-batch", "worker-without-route", "figures.py",
            ],
            swiftSettings: strict),

        .target(
            name: "TestSupport",
            dependencies: ["ImageModel", "Downloader", "JobQueue", "EmbeddedPostgres", "Concurrency", "CLinux"],
            path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(name: "StructureTests", swiftSettings: strict),
        .testTarget(name: "ConcurrencyTests", dependencies: ["Concurrency"], swiftSettings: strict),
        .testTarget(
            name: "DownloaderTests",
            dependencies: ["Downloader", "ImageModel", "Concurrency", "TestSupport"],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "DiskCacheTests", dependencies: ["DiskCache", "ImageModel", "Concurrency", "TestSupport"],
            resources: [.copy("Vectors")],
            swiftSettings: strict),
        .testTarget(
            name: "ObjectStoreTests",
            dependencies: ["ObjectStore", "Downloader", "DiskCache", "ImageModel", "Concurrency", "TestSupport"],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "ImageModelTests", dependencies: ["ImageModel"], resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "TranscoderTests", dependencies: ["Transcoder", "ImageModel", "TestSupport"],
            resources: [.copy("Vectors"), .copy("Images")], swiftSettings: strict),
        .testTarget(
            name: "PrefetcherTests",
            dependencies: [
                "Prefetcher", "Downloader", "DiskCache", "Transcoder", "ImageModel", "Concurrency", "TestSupport",
            ],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "JobQueueTests",
            dependencies: ["JobQueue", "ImageModel", "EmbeddedPostgres", "Concurrency", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "EmbeddedPostgresTests",
            dependencies: ["EmbeddedPostgres", "JobQueue", "Concurrency", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "Worker", "Prefetcher", "JobQueue", "Downloader", "DiskCache", "Transcoder", "ImageModel",
                "Concurrency",
                "TestSupport",
            ], swiftSettings: strict),
        .testTarget(
            name: "LarderTests",
            dependencies: ["Concurrency", "JobQueue", "EmbeddedPostgres", "ImageModel", "TestSupport", "larder"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
