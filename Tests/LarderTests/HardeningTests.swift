import Foundation
import TestSupport
import Testing

/// The programs as they were linked, with the linker of this system.
@Suite(.timeLimit(.minutes(1)))
struct HardeningTests {
    static let programs = [LarderCommand.executable, Products.transcoder]

    @Test(arguments: programs)
    func `it can be loaded at any address`(_ program: String) throws {
        let file = try LinkedProgram(program)
        #expect(file.type == 3, "ET_DYN")
        #expect((file.dynamic[0x6FFF_FFFB] ?? 0) & 0x0800_0000 != 0, "DF_1_PIE")
    }

    @Test(arguments: programs)
    func `relocations are read-only once it is loaded, and its code is never writable`(_ program: String) throws {
        let file = try LinkedProgram(program)
        let relro = try #require(file.segments.first { $0.type == 0x6474_E552 }, "PT_GNU_RELRO")
        #expect(relro.size > 0)
        #expect(file.dynamic[22] == nil, "DT_TEXTREL")
        #expect(!file.segments.contains { $0.type == 1 && $0.flags & 3 == 3 }, "a segment is writable and executable")
    }

    @Test(arguments: programs)
    func `its stack is not executable`(_ program: String) throws {
        let stack = try #require(
            try LinkedProgram(program).segments.first { $0.type == 0x6474_E551 }, "PT_GNU_STACK")
        #expect(stack.flags & 1 == 0)
    }
}

/// An ELF file.
private struct LinkedProgram {
    struct Segment {
        let type: UInt32
        let flags: UInt32
        let offset, size: Int
    }

    let segments: [Segment]
    private let file: Data

    init(_ path: String) throws {
        let file = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        #expect(file.prefix(6) == Data([0x7F, 0x45, 0x4C, 0x46, 2, 1]), "no ELF file of 64 bits, little-endian")
        let table = Int(Self.number(file, 32, UInt64.self)), size = Int(Self.number(file, 54, UInt16.self))
        segments = (0..<Int(Self.number(file, 56, UInt16.self))).map { index in
            let start = table + index * size
            return Segment(
                type: Self.number(file, start, UInt32.self), flags: Self.number(file, start + 4, UInt32.self),
                offset: Int(Self.number(file, start + 8, UInt64.self)),
                size: Int(Self.number(file, start + 32, UInt64.self)))
        }
        self.file = file
    }

    var type: UInt16 { Self.number(file, 16, UInt16.self) }

    /// The values of the dynamic section by their tags.
    var dynamic: [UInt64: UInt64] {
        guard let section = segments.first(where: { $0.type == 2 }) else { return [:] }
        let pairs = stride(from: section.offset, to: section.offset + section.size, by: 16).map {
            (Self.number(file, $0, UInt64.self), Self.number(file, $0 + 8, UInt64.self))
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    private static func number<Number: FixedWidthInteger>(_ file: Data, _ offset: Int, _: Number.Type) -> Number {
        file.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }
}
