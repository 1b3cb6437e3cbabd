// swift-tools-version: 6.2
import PackageDescription

// Names the compiler should hold us to: `any` is written out, an import is internal unless it says `public`,
// and a member is visible only where its module is imported.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Haneke",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Haneke", targets: ["Haneke"]),
        .library(name: "Hoard", targets: ["Hoard"]),
        .library(name: "HanekeNetwork", targets: ["HanekeNetwork"]),
        .library(name: "HanekeStorage", targets: ["HanekeStorage"]),
        .library(name: "CHaneke", targets: ["CHaneke"]),
        .executable(name: "haneke", targets: ["HanekeCLI"]),
        .executable(name: "haneke-bench", targets: ["HanekeBench"]),
    ],
    traits: [
        .trait(name: "BenchPeers", description: "haneke-bench also measures RocksDB, LevelDB, SQLite and tkrzw")
    ],
    targets: [
        // System libraries: a module map and a header each, no code of ours but what Swift can't call by itself.
        .systemLibrary(
            name: "CLMDB", path: "CSources/CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CXXHash", path: "CSources/CXXHash", pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
        .systemLibrary(
            name: "CCurl", path: "CSources/CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CZlib", path: "CSources/CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        // The store: C11 on LMDB and xxHash. CSources/CHaneke/Makefile builds the same sources for C callers.
        .target(
            name: "CHaneke", dependencies: ["CLMDB", "CXXHash"], path: "CSources/CHaneke",
            exclude: ["Makefile", "haneke.pc.in", "haneke.map"], sources: ["src"], publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE", .when(platforms: [.linux]))],
            linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("xxhash")]),

        // Each layer knows the one above it in this list and nothing below.
        .target(name: "HanekeStorage", dependencies: ["CHaneke"], swiftSettings: strict),
        .target(
            name: "HanekeNetwork",
            dependencies: [
                "HanekeStorage",
                .target(name: "CCurl", condition: .when(platforms: [.linux])),
                .target(name: "CZlib", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict),
        .target(name: "Haneke", dependencies: ["HanekeNetwork", "HanekeStorage"], swiftSettings: strict),
        .target(name: "Hoard", dependencies: ["HanekeStorage"], swiftSettings: strict),
        // A folder `haneke` beside `Haneke` would be one folder on file systems that ignore case.
        .executableTarget(
            name: "HanekeCLI", dependencies: ["Haneke", "HanekeStorage", "Hoard"], swiftSettings: strict),

        // Measuring. The timed loops and the rivals are C, so that no side pays for a bridge.
        .target(
            name: "CBench", dependencies: ["CHaneke", "CLMDB"], path: "CSources/CBench", sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [
                .define("_GNU_SOURCE", .when(platforms: [.linux])),
                .define("HANEKE_BENCH_PEERS", .when(traits: ["BenchPeers"])),
            ],
            linkerSettings: [
                .linkedLibrary("rocksdb", .when(traits: ["BenchPeers"])),
                .linkedLibrary("leveldb", .when(traits: ["BenchPeers"])),
                .linkedLibrary("sqlite3", .when(traits: ["BenchPeers"])),
                .linkedLibrary("tkrzw", .when(traits: ["BenchPeers"])),
            ]),
        .executableTarget(
            name: "HanekeBench", dependencies: ["CBench", "Haneke", "HanekeStorage"], swiftSettings: strict),

        .target(name: "TestSupport", path: "Tests/Support", swiftSettings: strict),
        .testTarget(
            name: "CHanekeTests", dependencies: ["CHaneke", "CLMDB", "CXXHash", "TestSupport"], exclude: ["Golden"],
            swiftSettings: strict),
        .testTarget(name: "HanekeStorageTests", dependencies: ["HanekeStorage", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "HanekeNetworkTests", dependencies: ["HanekeNetwork", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "HanekeTests", dependencies: ["Haneke", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "HoardTests", dependencies: ["Hoard", "Haneke", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "HanekeCLITests", dependencies: ["Haneke", "HanekeCLI", "TestSupport"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)
