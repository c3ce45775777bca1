@testable import ImageModel
@testable import Transcoder

/// The rectangles of an animation's frames, read from the file's blocks.
enum FrameRects {
    struct Frame: Equatable {
        /// Left, top, width, height.
        let rect: [Int]
        /// Whether a GIF's frame has a palette of its own.
        var hasPalette = false
    }

    /// GIF 89a, sections 18 to 27.
    static func gif(_ file: [UInt8]) -> [Frame] {
        func tableBytes(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
        var frames: [Frame] = [], offset = 13 + tableBytes(file[10])
        func afterBlocks(_ start: Int) -> Int {
            var offset = start
            while offset < file.count, file[offset] != 0 { offset += Int(file[offset]) + 1 }
            return offset + 1
        }
        while offset + 10 < file.count {
            if file[offset] == 0x21 {
                offset = afterBlocks(offset + 2)
            } else if file[offset] == 0x2C {
                let rect = stride(from: 1, to: 9, by: 2).compactMap { file.littleEndian(at: offset + $0, length: 2) }
                let flags = file[offset + 9]
                frames.append(Frame(rect: rect, hasPalette: flags & 0x80 != 0))
                offset = afterBlocks(offset + 11 + tableBytes(flags))
            } else {
                break
            }
        }
        return frames
    }

    /// RFC 9649, section 2.7.1.
    static func webp(_ file: [UInt8]) -> [Frame] {
        var frames: [Frame] = [], offset = 12
        while let length = file.littleEndian(at: offset + 4) {
            if file.has("ANMF", at: offset) {
                let numbers = stride(from: 8, to: 20, by: 3).compactMap {
                    file.littleEndian(at: offset + $0, length: 3)
                }
                frames.append(Frame(rect: [numbers[0] * 2, numbers[1] * 2, numbers[2] + 1, numbers[3] + 1]))
            }
            offset += 8 + length + length % 2
        }
        return frames
    }

    /// PNG, third edition, 11.3.6.2.
    static func png(_ file: [UInt8]) -> [Frame] {
        var frames: [Frame] = [], offset = 8
        while let length = file.bigEndian(at: offset) {
            if file.has("fcTL", at: offset + 4) {
                let numbers = stride(from: 12, to: 28, by: 4).compactMap { file.bigEndian(at: offset + $0) }
                frames.append(Frame(rect: [numbers[2], numbers[3], numbers[0], numbers[1]]))
            }
            offset += 12 + length
        }
        return frames
    }
}
