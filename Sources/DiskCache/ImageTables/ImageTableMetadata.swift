import FoundationEssentials

/// The metadata file of an image table in JSON, in the words of FastImageCache.
struct ImageTableMetadata: Codable {
    /// Just what FastImageCache compares with its own: with anything more, an app would take the table for one of another
    /// format and begin it anew.
    struct Format: Codable, Equatable {
        let name, family: String
        let width, height, style, maximumCount, devices, protectionMode, screenScale, metadataVersion: Int

        init(_ format: ImageTableFormat) {
            name = format.name
            family = format.family ?? ""
            width = format.width
            height = format.height
            style = format.style.rawValue
            maximumCount = format.maximumCount
            devices = 3
            protectionMode = 0
            screenScale = format.scale
            metadataVersion = 8
        }
    }

    let format: Format
    let indexMap: [String: Int]
    let contextMap: [String: String]
    let mruArray: [String]
    /// Larder's own: the page size of the device that the table was made for.
    let pageSize: Int

    init(_ format: ImageTableFormat, _ index: ImageTableIndex) {
        self.format = Format(format)
        pageSize = format.pageSize
        var places: [String: Int] = [:]
        var sources: [String: String] = [:]
        var recent: [String] = []
        index.newestFirst { entity, entry in
            let text = entity.text
            places[text] = entry.place
            sources[text] = entry.source.text
            recent.append(text)
        }
        indexMap = places
        contextMap = sources
        mruArray = recent
    }

    /// Nil when `bytes` are no metadata.
    init?(_ bytes: [UInt8]) {
        guard let read = try? JSONDecoder().decode(ImageTableMetadata.self, from: Data(bytes)) else { return nil }
        self = read
    }

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array((try? encoder.encode(self)) ?? Data())
    }

    /// Nil when it is of another format, or contradicts itself or the file's length: the table is then begun anew.
    func index(of format: ImageTableFormat, fileLength: Int) -> ImageTableIndex? {
        guard self.format == Format(format), pageSize == format.pageSize else { return nil }
        let places = indexMap.compactMap { text, place in EntityID(text: text).map { ($0, place) } }
        let sources = contextMap.compactMap { text, source in
            EntityID(text: text).flatMap { entity in EntityID(text: source).map { (entity, $0) } }
        }
        return ImageTableIndex(
            places: Dictionary(places) { first, _ in first }, sources: Dictionary(sources) { first, _ in first },
            recent: mruArray.compactMap(EntityID.init(text:)), placeCount: fileLength / format.entryLength)
    }
}
