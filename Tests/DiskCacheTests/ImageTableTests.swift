import Foundation
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct ImageTableTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func format(_ count: Int = 4, width: Int = 500, pageSize: Int = 4096) throws -> ImageTableFormat {
        try ImageTableFormat(
            name: "card", family: "cards", width: width, height: 300, style: .bgra32, maximumCount: count,
            pageSize: pageSize)
    }

    private func pixels(_ format: ImageTableFormat, _ value: UInt8) -> [UInt8] {
        [UInt8](repeating: value, count: format.imageLength)
    }

    private func entity(_ number: Int) -> EntityID { EntityID(CacheKey("\(number)")) }
    private let source = EntityID(source: CacheKey("original"), state: "etag")
    private var place: String { directory.path + "/ImageTables/FICDefaultNamespace/card" }

    @Test func `has the sizes of FastImageCache`() throws {
        let format = try format()
        #expect(format.rowLength == 2048, "500 × 4 = 2000, up to a multiple of 64")
        #expect(format.imageLength == 614_400)
        #expect(format.entryLength == 618_496, "614,432 in pages of 4096")
        #expect(format.entriesPerChunk == 4)
        #expect(format.effectiveMaximum == 4)
        let small = try ImageTableFormat(
            name: "dot", width: 10, height: 10, scale: 2, style: .rgb16, maximumCount: 3, pageSize: 16_384)
        #expect(small.rowLength == 64)
        #expect(small.imageLength == 1280)
        #expect(small.entryLength == 16_384)
        #expect(small.entriesPerChunk == 128)
        #expect(small.effectiveMaximum == 128)
        #expect(ImageTableFormat.Style.allCases.map(\.bytesPerPixel) == [4, 4, 2, 1])
    }

    @Test(arguments: ["", "a/b", ".a", "a\u{0}"])
    func `refuses a name that is not a file name`(name: String) {
        #expect(code { _ = try ImageTableFormat(name: name, width: 1, height: 1, maximumCount: 1) } == .invalidName)
    }

    /// A half-transparent red pixel and a fully transparent white one, in rows of 64 bytes.
    @Test(arguments: [
        (ImageTableFormat.Style.bgra32, [0, 0, 128, 128, 0, 0, 0, 0]), (.bgr32, [0, 0, 128, 255, 0, 0, 0, 255]),
        (.rgb16, [0x00, 0x40, 0x00, 0x00]), (.grey8, [38, 0]),
    ])
    func `converts pixels to its style`(style: ImageTableFormat.Style, expected: [UInt8]) throws {
        let format = try ImageTableFormat(name: "dot", width: 2, height: 2, style: style, maximumCount: 1)
        let row: [UInt8] = [255, 0, 0, 128, 255, 255, 255, 0]
        let bytes = try format.pixels(fromRGBA: row + row)
        #expect(bytes.count == format.imageLength)
        #expect(format.pixelWidth == 2)
        #expect(format.pixelHeight == 2)
        for start in [0, format.rowLength] { #expect(Array(bytes[start..<(start + expected.count)]) == expected) }
        #expect(code { _ = try format.pixels(fromRGBA: row) } == .tooLarge)
    }

    @Test func `returns stored images, also to another process`() throws {
        let format = try format()
        do {
            let table = try ImageTable(opening: directory.path, format: format)
            try table.store(pixels(format, 1), for: entity(1), source: source)
            try table.store(pixels(format, 2), for: entity(2), source: source)
            #expect(try table.read(entity(1), source: source) == pixels(format, 1))
            #expect(try table.read(entity(3), source: source) == nil)
            #expect(code { try table.store([1], for: entity(1), source: source) } == .tooLarge)
            try table.flush()
        }
        let bytes = try Data(contentsOf: URL(filePath: place + ".imageTable"))
        #expect(bytes.count == 4 * 618_496, "one chunk")
        #expect(bytes[0] == 1)
        #expect(bytes[618_496] == 2)
        #expect(Array(bytes[(618_496 - 32)..<618_496]) == entity(1).bytes + source.bytes)
        let metadata = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: place + ".metadata")))
                as? [String: Any])
        #expect((metadata["indexMap"] as? [String: Int])?[entity(2).text] == 1)
        #expect((metadata["mruArray"] as? [String])?.count == 2)
        let written = try #require(metadata["format"] as? [String: Any])
        #expect(written["family"] as? String == "cards")
        #expect(metadata["pageSize"] as? Int == 4096)

        let again = try ImageTable(opening: directory.path, format: format)
        #expect(again.count == 2)
        #expect(try again.read(entity(2), source: source) == pixels(format, 2))
    }

    /// FastImageCache 1.5.1: `FICImageFormat.m` 164–180 makes the dictionary, without a family when it is nil (168);
    /// `FICImageTable.m` 21–22 has the two long names; `FICImageTable.m` 740–745 deletes the table unless both are
    /// equal.
    @Test(arguments: [
        (nil, ImageTableFormat.Devices.all, ImageTableFormat.Protection.none, 3, 0),
        ("cards", .phone, .complete, 1, 1), ("cards", .pad, .untilFirstUnlock, 2, 2),
    ])
    func `writes the format's dictionary exactly as FastImageCache compares it`(
        family: String?, devices: ImageTableFormat.Devices, protection: ImageTableFormat.Protection, bits: Int,
        mode: Int
    ) throws {
        let format = try ImageTableFormat(
            name: "card", family: family, width: 100, height: 50, scale: 2, style: .bgr32, maximumCount: 40,
            devices: devices, protection: protection)
        try ImageTable(opening: directory.path, format: format).flush()
        let text = try Data(contentsOf: URL(filePath: place + ".metadata"))
        let metadata = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        let written = try #require(metadata["format"] as? [String: Any])
        #expect(
            written.compactMapValues { $0 as? Int } == [
                "width": 100, "height": 50, "style": 1, "maximumCount": 40, "devices": bits, "protectionMode": mode,
                "FICImageTableScreenScaleKey": 2, "FICImageTableEntryDataVersionKey": 8,
            ])
        var texts = ["name": "card"]
        texts["family"] = family
        #expect(written.compactMapValues { $0 as? String } == texts)
        #expect(written.count == 8 + texts.count)
        #expect(Set(metadata.keys) == ["indexMap", "contextMap", "mruArray", "format", "pageSize"])
    }

    @Test func `refuses a format for no device`() {
        #expect(
            code { _ = try ImageTableFormat(name: "a", width: 1, height: 1, maximumCount: 1, devices: []) }
                == .invalidName)
    }

    @Test func `removes an image whose source has changed`() throws {
        let format = try format()
        let table = try ImageTable(opening: directory.path, format: format)
        try table.store(pixels(format, 1), for: entity(1), source: source)
        #expect(try table.read(entity(1), source: EntityID(source: CacheKey("original"), state: "new")) == nil)
        #expect(table.count == 0)
        #expect(try table.read(entity(1), source: source) == nil)
    }

    @Test func `replaces the least recently used image when full`() throws {
        let format = try format(4)
        let table = try ImageTable(opening: directory.path, format: format)
        for number in 1...4 { try table.store(pixels(format, UInt8(number)), for: entity(number), source: source) }
        _ = try table.read(entity(1), source: source)
        try table.store(pixels(format, 5), for: entity(5), source: source)
        #expect(table.count == 4)
        #expect(try table.read(entity(2), source: source) == nil)
        #expect(try table.read(entity(1), source: source)?.first == 1)
        #expect(try table.read(entity(5), source: source)?.first == 5)
        table.remove(entity(1))
        try table.store(pixels(format, 6), for: entity(6), source: source)
        try table.flush()
        #expect(status(place + ".imageTable").st_size == 4 * 618_496, "in the free slot")
    }

    @Test func `is emptied when its format has changed or its metadata is invalid`() throws {
        let old = try format()
        do {
            let table = try ImageTable(opening: directory.path, format: old)
            try table.store(pixels(old, 1), for: entity(1), source: source)
            try table.flush()
        }
        #expect(try ImageTable(opening: directory.path, format: old).count == 1)
        do {
            let other = try ImageTable(opening: directory.path, format: format(pageSize: 16_384))
            #expect(other.count == 0, "its entries have other offsets")
            try other.store(pixels(old, 1), for: entity(1), source: source)
            try other.flush()
        }
        #expect(try ImageTable(opening: directory.path, format: format(width: 501)).count == 0)
        #expect(status(place + ".imageTable").st_size == 0)
        try Data("{}".utf8).write(to: URL(filePath: place + ".metadata"))
        #expect(try ImageTable(opening: directory.path, format: old).count == 0)
    }

    @Test func `trusts the trailer of an entry over the metadata`() throws {
        let format = try format()
        let table = try ImageTable(opening: directory.path, format: format)
        try table.store(pixels(format, 1), for: entity(1), source: source)
        let handle = try FileHandle(forWritingTo: URL(filePath: place + ".imageTable"))
        try handle.seek(toOffset: UInt64(format.entryLength - 32))
        try handle.write(contentsOf: Data(repeating: 9, count: 16))
        #expect(try table.read(entity(1), source: source) == nil)
    }

    @Test func `is emptied when its file is shorter than its metadata says`() throws {
        let format = try format()
        do {
            let table = try ImageTable(opening: directory.path, format: format)
            try table.store(pixels(format, 1), for: entity(1), source: source)
            try table.flush()
        }
        #expect(truncate(place + ".imageTable", 100) == 0)
        #expect(try ImageTable(opening: directory.path, format: format).count == 0)
    }

    @Test func `deletes the temporary file of a killed writer`() throws {
        let format = try format()
        _ = try ImageTable(opening: directory.path, format: format)
        let this = TemporaryName.Writer.this
        let dead = ".larder.\(this.boot).\(this.namespace).\(this.process).\(this.startTime + 1).ff"
        let namespace = "ImageTables/FICDefaultNamespace"
        try Data().write(to: directory.url.appending(path: namespace + "/" + dead))
        _ = try ImageTable(opening: directory.path, format: format)
        #expect(try directory.names(in: namespace) == ["card.imageTable"])
    }

    /// With quadratic time the suite would exceed its limit.
    @Test func `updates an index of fifty thousand images in constant time`() {
        var index = ImageTableIndex()
        let count = 50_000
        func entity(_ number: Int) -> EntityID {
            EntityID(bytes: (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })
        }
        func store(_ number: Int) -> Int {
            let (slot, replaced) = index.slot(for: entity(number), maxCount: count)
            if let replaced { index.remove(replaced) }
            index.put(entity(number), source: source, at: slot)
            return slot
        }
        #expect((0..<count).allSatisfy { store($0) == $0 })
        #expect((0..<count / 2).allSatisfy { index.find(entity($0), source: source) == $0 })
        // The other half is replaced first, in its order.
        #expect((count / 2..<count).allSatisfy { store($0 + count) == $0 })
        #expect(index.count == count)
        index.remove(entity(7))
        index.remove(entity(3))
        #expect(store(3 * count) == 3, "the lowest free slot")
        #expect(store(4 * count) == 7)
        #expect(index.count == count)
    }

    @Test func `has one writer`() throws {
        let format = try format()
        let table = try ImageTable(opening: directory.path, format: format)
        #expect(code { _ = try ImageTable(opening: directory.path, format: format) } == .busy)
        withExtendedLifetime(table) {}
    }
}
