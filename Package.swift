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

/// Only gold, which Debian 12 has, makes relocations read-only unasked.
let readOnlyRelocations: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "relro"])]

let package = Package(
    name: "larder",
    products: [
        .library(name: "Prefetcher", targets: ["Prefetcher", "Downloader"]),
        .library(name: "Transcoder", targets: ["Transcoder"]),
        .library(name: "JobQueue", targets: ["JobQueue"]),
        .library(name: "DiskCache", targets: ["DiskCache"]),
        .executable(name: "larder", targets: ["larder"]),
        .executable(name: "larder-transcoder", targets: ["larder-transcoder"]),
        .executable(name: "larder-lab", targets: ["larder-lab"]),
    ],
    targets: [
        .plugin(name: "EmbedText", capability: .buildTool()),

        // C libraries, each behind one door: only the Swift target named beside it imports it, GLib excepted.
        // ImageModel
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // Downloader
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CCompression", providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"])]),
        .target(name: "CCares", linkerSettings: [.linkedLibrary("cares")]),
        // Codecs
        .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(name: "CAVIF", providers: [.apt(["libavif-dev"])]),
        .systemLibrary(name: "CSpng", pkgConfig: "spng", providers: [.apt(["libspng-dev"])]),
        .target(name: "CPlanes", linkerSettings: [.linkedLibrary("jpeg")]),
        // JobQueue
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // DiskCache (bundles)
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
        // DiskCache (YYCache)
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // DiskCache (host names)
        .target(name: "CICU", linkerSettings: [.linkedLibrary("icuuc")]),
        // DiskCache (MD5), Terminal (widths), CommandLine (options)
        .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        // ObjectStore
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        // Reports (CSV)
        .systemLibrary(name: "CCSV", providers: [.apt(["libcsv-dev"])]),
        // CommandLine (configuration files)
        .target(name: "CTOML"),
        // HTTPServer
        .target(name: "CMicroHTTPD", linkerSettings: [.linkedLibrary("microhttpd")]),
        // What Linux has and Swift cannot see
        .target(name: "CLinux"),

        .target(name: "ImageModel", dependencies: ["CCrypto"], swiftSettings: strict),
        .target(name: "Concurrency", dependencies: ["CLinux"], swiftSettings: strict),
        .target(
            name: "Downloader",
            dependencies: ["ImageModel", "Concurrency", "CCurl", "CCompression", "CCares", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "DiskCache",
            dependencies: ["ImageModel", "Concurrency", "CGLib", "CICU", "CArchive", "CSQLite", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "ObjectStore",
            dependencies: ["ImageModel", "Concurrency", "Downloader", "DiskCache", "CExpat"], swiftSettings: strict),
        .target(
            name: "Transcoder", dependencies: ["ImageModel", "Concurrency", "CLinux"], swiftSettings: strict),
        .target(
            name: "Codecs",
            dependencies: ["ImageModel", "Transcoder", "CVips", "CWebP", "CAVIF", "CSpng", "CPlanes", "CLinux"],
            swiftSettings: strict),
        .executableTarget(
            name: "larder-transcoder", dependencies: ["Codecs"], swiftSettings: strict,
            linkerSettings: readOnlyRelocations),
        .target(
            name: "Prefetcher",
            dependencies: ["ImageModel", "Concurrency", "Downloader", "DiskCache", "Transcoder", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "JobQueue", dependencies: ["ImageModel", "Concurrency", "CPostgres"],
            exclude: ["Migrations"], swiftSettings: strict, plugins: ["EmbedText"]),
        .target(
            name: "EmbeddedPostgres", dependencies: ["ImageModel", "Concurrency", "JobQueue"], swiftSettings: strict),
        .target(
            name: "Worker",
            dependencies: ["ImageModel", "Concurrency", "DiskCache", "Downloader", "Prefetcher", "JobQueue"],
            swiftSettings: strict),
        .target(name: "Measuring", dependencies: ["Concurrency"], swiftSettings: strict),
        .target(
            name: "Terminal", dependencies: ["ImageModel", "Concurrency", "CGLib", "CLinux"], swiftSettings: strict),
        .target(
            name: "CommandLine", dependencies: ["Terminal", "Concurrency", "CGLib", "CTOML", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "HTTPServer", dependencies: ["Terminal", "Concurrency", "CMicroHTTPD"], swiftSettings: strict),
        .target(
            name: "Telemetry", dependencies: ["Terminal", "Downloader", "ImageModel", "Concurrency"],
            swiftSettings: strict),
        .target(
            name: "Reports",
            dependencies: [
                "Terminal", "JobQueue", "Prefetcher", "Transcoder", "ObjectStore", "DiskCache", "Downloader",
                "ImageModel", "Concurrency", "CCSV",
            ],
            exclude: ["Resources"], swiftSettings: strict, plugins: ["EmbedText"]),
        .target(
            name: "Lists",
            dependencies: [
                "Reports", "CommandLine", "Terminal", "JobQueue", "Prefetcher", "ObjectStore", "DiskCache",
                "ImageModel",
                "Concurrency",
            ], swiftSettings: strict),
        .target(
            name: "Dashboard",
            dependencies: [
                "Reports", "Telemetry", "HTTPServer", "Terminal", "JobQueue", "Transcoder", "ObjectStore",
                "DiskCache", "Downloader", "ImageModel", "Concurrency",
            ],
            exclude: ["Resources"], swiftSettings: strict, plugins: ["EmbedText"]),
        .target(
            name: "Monitoring",
            dependencies: [
                "Dashboard", "Reports", "Telemetry", "HTTPServer", "CommandLine", "Terminal", "Worker", "JobQueue",
                "Prefetcher", "Transcoder", "DiskCache", "Downloader", "ImageModel", "Concurrency",
            ], swiftSettings: strict),
        .target(
            name: "Commands",
            dependencies: [
                "Monitoring", "Dashboard", "Lists", "Reports", "Telemetry", "HTTPServer", "CommandLine", "Terminal",
                "Worker",
                "EmbeddedPostgres", "JobQueue", "Prefetcher", "Transcoder", "ObjectStore", "DiskCache", "Downloader",
                "ImageModel",
                "Concurrency",
            ], swiftSettings: strict),
        .executableTarget(
            name: "larder", dependencies: ["Commands", "CommandLine"], swiftSettings: strict,
            linkerSettings: readOnlyRelocations),
        .target(
            name: "Lab",
            dependencies: [
                "CommandLine", "Terminal", "Measuring", "Worker", "EmbeddedPostgres", "JobQueue", "Prefetcher",
                "ImageModel", "Concurrency",
            ], swiftSettings: strict),
        .executableTarget(
            name: "larder-lab", dependencies: ["Lab", "CommandLine"], swiftSettings: strict,
            linkerSettings: readOnlyRelocations),
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
        .target(
            name: "TestTranscoder", dependencies: ["Codecs", "Transcoder", "ImageModel", "Concurrency"],
            path: "Tests/TestTranscoder", swiftSettings: strict),
        .systemLibrary(name: "CFuzzer", path: "Tests/CFuzzer"),
        .executableTarget(
            name: "larder-fuzz",
            dependencies: [
                "Codecs", "CommandLine", "DiskCache", "Downloader", "ImageModel", "JobQueue", "Lists", "ObjectStore",
                "Prefetcher", "Reports", "Transcoder", "CFuzzer",
            ],
            path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: strict),
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
            name: "TelemetryTests", dependencies: ["Telemetry", "Downloader", "Concurrency", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "TranscoderTests",
            dependencies: ["Codecs", "Transcoder", "ImageModel", "TestSupport", "TestTranscoder"],
            resources: [.copy("Vectors"), .copy("Images")], swiftSettings: strict),
        .testTarget(
            name: "PrefetcherTests",
            dependencies: [
                "Prefetcher", "Downloader", "DiskCache", "Transcoder", "ImageModel", "Concurrency", "TestSupport",
                "TestTranscoder",
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
            dependencies: [
                "Commands", "Monitoring", "Dashboard", "Lists", "Reports", "HTTPServer", "CommandLine", "Terminal",
                "Lab", "Concurrency",
                "JobQueue", "EmbeddedPostgres", "Prefetcher", "ImageModel", "TestSupport", "larder", "larder-lab",
                "larder-fuzz",
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
