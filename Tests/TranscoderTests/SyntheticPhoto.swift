import Foundation
import Testing

/// A synthetic photograph: smooth parts, edges, fine grain, muted colours.
struct SyntheticPhoto {
    let width, height: Int
    /// Red, green, blue of each pixel.
    let pixels: [UInt8]

    init(_ width: Int, _ height: Int, _ random: inout SeededRandom) {
        func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
        let waves = (0..<4).map { _ in
            (x: number(0.01...0.25), y: number(0.01...0.25), phase: number(0...6), height: number(5...30))
        }
        let shapes = (0..<6).map { _ in
            (
                x: number(0...Double(width)), y: number(0...Double(height)),
                radius: number(3...Double(max(width, 8)) / 2),
                color: [number(-60...60), number(-60...60), number(-60...60)]
            )
        }
        let ground = [number(70...180), number(70...180), number(70...180)], grain = number(0...6)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 3)
        for y in 0..<height {
            for x in 0..<width {
                var value = ground
                var wave = number(-grain...grain)
                for part in waves { wave += part.height * sin(part.x * Double(x) + part.y * Double(y) + part.phase) }
                for shape in shapes {
                    let distance = (Double(x) - shape.x).magnitude + (Double(y) - shape.y).magnitude
                    let share = min(max(shape.radius - distance, 0), 2) / 2
                    for band in 0..<3 { value[band] += shape.color[band] * share }
                }
                for band in 0..<3 { pixels.append(UInt8(min(max(value[band] + wave, 0), 255))) }
            }
        }
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }

    /// A JPEG by Debian's `cjpeg` with the given options.
    func jpeg(_ options: [String], orientation: Int = 1) throws -> [UInt8] {
        let file = try encoded { path in ["cjpeg"] + options + [path] }
        guard orientation != 1 else { return file }
        // EXIF with one field, little-endian.
        let exif: [UInt8] =
            Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(orientation), 0, 0, 0]
            + [0, 0, 0, 0]
        return file[..<2] + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + file[2...]
    }

    /// A lossy WebP by Debian's `cwebp`; `isExtended` puts it into the extended container.
    func webp(quality: Int, isExtended: Bool) throws -> [UInt8] {
        let file = try encoded { path in ["cwebp", "-quiet", "-q", "\(quality)", path, "-o", "-"] }
        guard isExtended else { return file }
        func little(_ number: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(number >> (8 * $0) & 255) } }
        let body =
            Array("WEBPVP8X".utf8) + little(10, 4) + [0, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3)
            + file[12...]
        return Array("RIFF".utf8) + little(body.count, 4) + body
    }

    /// A lossless WebP by Debian's `cwebp`.
    func losslessWebP() throws -> [UInt8] { try encoded { path in ["cwebp", "-quiet", "-lossless", path, "-o", "-"] } }

    private func encoded(_ command: (String) -> [String]) throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID().uuidString).ppm")
        defer { try? FileManager.default.removeItem(at: path) }
        try Data(Array("P6\n\(width) \(height)\n255\n".utf8) + pixels).write(to: path)
        let process = Process(), pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command(path.path)
        process.standardOutput = pipe
        try process.run()
        let file = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(command("FILE"))")
        return Array(file)
    }
}
