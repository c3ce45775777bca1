import FoundationEssentials

/// An image table's metadata file: JSON with FastImageCache's field names.
struct ImageTableMetadata: Codable {
    /// Exactly the fields that FastImageCache compares: if one differs, is missing or is added, an app deletes the
    /// table. A format without family omits that field.
    ///
    /// Source: FastImageCache 1.5.1, `dictionaryRepresentation` of `FICImageFormat`, and `_loadMetadata` of
    /// `FICImageTable`.
    struct Format: Codable, Equatable {
        let name: String
        let family: String?
        let width, height, style, maximumCount, devices, protectionMode, screenScale, metadataVersion: Int

        enum CodingKeys: String, CodingKey {
            case name, family, width, height, style, maximumCount, devices, protectionMode
            case screenScale = "FICImageTableScreenScaleKey"
            case metadataVersion = "FICImageTableEntryDataVersionKey"
        }

        init(_ format: ImageTableFormat) {
            name = format.name
            family = format.family
            width = format.width
            height = format.height
            style = format.style.rawValue
            maximumCount = format.maximumCount
            devices = format.devices.rawValue
            protectionMode = format.protection.rawValue
            screenScale = format.scale
            metadataVersion = 8
        }
    }

    let format: Format
    let indexMap: [String: Int]
    let contextMap: [String: String]
    let mruArray: [String]
    /// Page size of the device that reads the table; not recorded by FastImageCache.
    let pageSize: Int

    init(_ format: ImageTableFormat, _ index: ImageTableIndex) {
        self.format = Format(format)
        pageSize = format.pageSize
        var slots: [String: Int] = [:]
        var sources: [String: String] = [:]
        var recent: [String] = []
        index.forEachByRecency { entity, entry in
            let text = entity.text
            slots[text] = entry.slot
            sources[text] = entry.source.text
            recent.append(text)
        }
        indexMap = slots
        contextMap = sources
        mruArray = recent
    }

    /// Nil if `bytes` cannot be parsed.
    init?(_ bytes: [UInt8]) {
        guard let metadata = try? JSONDecoder().decode(ImageTableMetadata.self, from: Data(bytes)) else { return nil }
        self = metadata
    }

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array((try? encoder.encode(self)) ?? Data())
    }

    /// Nil if the format differs, or the fields contradict each other or the file's length: the table is then emptied.
    func index(of format: ImageTableFormat, fileLength: Int) -> ImageTableIndex? {
        guard self.format == Format(format), pageSize == format.pageSize else { return nil }
        let slots = indexMap.compactMap { text, slot in EntityID(text: text).map { ($0, slot) } }
        let sources = contextMap.compactMap { text, source in
            EntityID(text: text).flatMap { entity in EntityID(text: source).map { (entity, $0) } }
        }
        return ImageTableIndex(
            slots: Dictionary(slots) { first, _ in first }, sources: Dictionary(sources) { first, _ in first },
            recent: mruArray.compactMap(EntityID.init(text:)), slotCount: fileLength / format.entryLength)
    }
}
