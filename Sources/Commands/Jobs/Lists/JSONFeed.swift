import FoundationEssentials

/// A JSON Feed (jsonfeed.org, version 1 and 1.1): the images of its items.
struct JSONFeed: Decodable {
    private struct Item: Decodable {
        let image: String?
        let banner: String?
        let attachments: [Attachment]?

        enum CodingKeys: String, CodingKey {
            case image
            case banner = "banner_image"
            case attachments
        }
    }

    private struct Attachment: Decodable {
        let url: String
        let type: String?

        enum CodingKeys: String, CodingKey {
            case url
            case type = "mime_type"
        }
    }

    private let version: String
    private let items: [Item]

    /// The prefix of `version`.
    static let sign = "https://jsonfeed.org/version/"

    /// The images of a document, numbered by their items from 1.
    ///
    /// - Throws: `BadLine` when it is no JSON Feed.
    static func images(of document: [UInt8]) throws(BadLine) -> [ListItem] {
        guard let feed = try? JSONDecoder().decode(JSONFeed.self, from: Data(document)), feed.version.hasPrefix(sign)
        else { throw BadLine(line: 1, message: "is no JSON Feed: version and items are required") }
        return feed.items.enumerated().flatMap { number, item in
            let attached = (item.attachments ?? []).filter { attachment in
                attachment.type?.lowercased().hasPrefix("image/") ?? ImageName.isImage(url: attachment.url)
            }
            return ([item.image, item.banner].compactMap { $0 } + attached.map(\.url)).map {
                ListItem(url: $0, line: number + 1)
            }
        }
    }
}
