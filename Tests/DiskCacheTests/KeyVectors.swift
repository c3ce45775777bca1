import Foundation
import Testing

/// Keys with the names and derived keys of SDWebImage; see the specification of SDWebImage 5.21.5, sections 4 and 5.
struct KeyVectors: Decodable {
    struct Derived: Decodable, Sendable, CustomTestStringConvertible {
        let key, suffix, expected, note: String
        var testDescription: String { "\(key) + \(suffix)" }
    }

    struct Name: Decodable, Sendable, CustomTestStringConvertible {
        let key, expected, note: String
        var testDescription: String { String(key.prefix(100)) }
    }

    struct Scale: Decodable, Sendable, CustomTestStringConvertible {
        let key, note: String
        let expected: Int
        var testDescription: String { key }
    }

    struct Directory: Decodable, Sendable {
        let root, namespace, expected: String
    }

    let derivedKeys: [Derived]
    let fileNames: [Name]
    let scaleFactors: [Scale]
    let directories: [Directory]

    static func read() throws -> KeyVectors {
        try JSONDecoder().decode(KeyVectors.self, from: Data(contentsOf: vectors.appending(path: "key_vectors.json")))
    }

    /// The directory with the data of these tests.
    static var vectors: URL { Bundle.module.bundleURL.appending(path: "Vectors") }
}
