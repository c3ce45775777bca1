import Foundation

/// The vectors of SDWebImage 5.21.5's manager that are tables.
struct ManagerVectors: Decodable {
    struct Option: Decodable {
        let bit: Int
        let value: UInt64
    }

    struct Enums: Decodable {
        let options: [String: Option]
        let downloaderOptions: [String: Option]
        let cacheOptions: [String: Option]
        let cacheTypes: [String: Int]
        let contextKeys: [String]
        let errorCodes: [String: String]

        private enum CodingKeys: String, CodingKey {
            case options = "SDWebImageOptions"
            case downloaderOptions = "SDWebImageDownloaderOptions"
            case cacheOptions = "SDImageCacheOptions"
            case cacheTypes = "SDImageCacheType"
            case contextKeys = "context_keys"
            case errorCodes = "error_codes"
        }
    }

    struct Failure: Decodable, Sendable {
        let domain: String
        let code: Int
        let blocks: Bool
    }

    let enums: Enums
    let blocking: [Failure]

    private enum CodingKeys: String, CodingKey {
        case enums
        case blocking = "failed_url_block_table"
    }

    static func read() throws -> ManagerVectors {
        let file = Bundle.module.bundleURL.appending(path: "Vectors/manager_vectors.json")
        return try JSONDecoder().decode(ManagerVectors.self, from: Data(contentsOf: file))
    }
}
