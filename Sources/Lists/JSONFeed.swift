import FoundationEssentials

/// The images of a JSON Feed's items (jsonfeed.org, versions 1 and 1.1).
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

        var images: [String] {
            let attached = (attachments ?? []).filter { attachment in
                attachment.type?.lowercased().hasPrefix("image/") ?? ImageName.isImage(url: attachment.url)
            }
            return [image, banner].compactMap { $0 } + attached.map(\.url)
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

    /// An item, or why it is invalid: one invalid item is one bad line.
    private struct Entry: Decodable {
        let item: Result<Item, BadLine>

        init(from decoder: any Decoder) {
            let line = (decoder.codingPath.last?.intValue ?? 0) + 1
            item = Result { try Item(from: decoder) }.mapError { _ in
                BadLine(line: line, message: "item \(line) of the JSON Feed has a field of a wrong type")
            }
        }
    }

    private let version: String
    private let items: [Entry]

    /// The prefix of `version`.
    static let sign = "https://jsonfeed.org/version/"

    /// A document's images, numbered by item from 1, and the unreadable items.
    ///
    /// - Throws: `BadLine` if it is no JSON Feed.
    static func images(of document: [UInt8]) throws(BadLine) -> [Result<ListItem, BadLine>] {
        guard let feed = try? JSONDecoder().decode(JSONFeed.self, from: Data(document)), feed.version.hasPrefix(sign)
        else { throw BadLine(line: 1, message: "is no JSON Feed: version and items are required") }
        return feed.items.enumerated().flatMap { number, entry -> [Result<ListItem, BadLine>] in
            switch entry.item {
            case .failure(let bad): [.failure(bad)]
            case .success(let item): item.images.map { .success(ListItem(url: $0, line: number + 1)) }
            }
        }
    }
}
