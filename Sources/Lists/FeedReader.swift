import Terminal

/// Reads the images of one XML or JSON document as items.
final class FeedReader {
    /// Maximum document in bytes, decompressed.
    static let longest = 64 << 20

    private let name: String
    private let format: ListFormat?
    private let parser: FeedParser
    private var size = 0
    private var document: [UInt8] = []
    private var items: ArraySlice<Result<ListItem, BadLine>> = []
    private var hasEnded = false
    /// The last read line of the document, or number of the item.
    private(set) var line = 0

    /// - Parameters:
    ///   - name: for errors.
    ///   - format: nil for any XML format.
    init(_ name: String, _ format: ListFormat?) {
        self.name = name == "-" ? "standard input" : name
        self.format = format
        parser = FeedParser(format)
    }

    /// The next item, or an unreadable one; nil at the end.
    ///
    /// - Throws: `CommandError` for an unparsable document, or one of more than 64 MiB.
    func next(of lines: inout LineReader) async throws(CommandError) -> Result<ListItem, BadLine>? {
        while items.isEmpty, !hasEnded {
            let piece = try await lines.nextBlock()
            guard !lines.wasStopped else { return nil }
            hasEnded = piece.isEmpty
            size += piece.count
            guard size <= Self.longest else {
                throw .larder(.badLine, "\(name): is larger than \(Self.longest >> 20) MiB; divide it")
            }
            do throws(BadLine) { items = try more(piece)[...] } catch {
                throw .larder(.badLine, "\(name):\(error.line): \(error.message)")
            }
        }
        let item = items.popFirst()
        switch item {
        case .success(let item)?: line = item.line
        case .failure(let bad)?: line = bad.line
        case nil: break
        }
        return item
    }

    private func more(_ piece: [UInt8]) throws(BadLine) -> [Result<ListItem, BadLine>] {
        guard format == .jsonfeed else { return try parser.parse(piece, isLast: hasEnded) }
        document += piece
        return hasEnded ? try JSONFeed.images(of: document) : []
    }
}
