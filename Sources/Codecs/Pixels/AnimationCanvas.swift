internal import ImageModel

/// The canvas on which an animated PNG's frames are drawn.
///
/// Source: PNG, third edition, 11.3.6.2.
struct AnimationCanvas {
    let size: PixelSize
    /// Red, green, blue, straight alpha, row by row; initially transparent black.
    private(set) var pixels: [UInt8]
    /// The replacement of the last drawn frame's rectangle: its previous rows, or transparent black.
    private var disposed: (rect: PixelRect, pixels: [UInt8]?)?

    init(_ size: PixelSize) {
        self.size = size
        pixels = [UInt8](repeating: 0, count: size.area * 4)
    }

    /// Disposes of the previous frame and draws another one.
    ///
    /// - Parameter source: the pixels of the frame's rectangle, in the canvas' form.
    mutating func draw(_ frame: PNGAnimation.Frame, _ source: UnsafeRawBufferPointer) {
        precondition(source.count == frame.rect.size.area * 4, "a frame has four bytes a pixel")
        dispose()
        switch frame.disposal {
        case .keep: break
        case .clear: disposed = (frame.rect, nil)
        case .restore: disposed = (frame.rect, rows(of: frame.rect).flatMap { pixels[$0] })
        }
        let length = frame.rect.width * 4, targets = rows(of: frame.rect)
        pixels.withUnsafeMutableBytes { canvas in
            for (row, target) in targets.enumerated() {
                let pixels = UnsafeRawBufferPointer(rebasing: source[row * length..<(row + 1) * length])
                let below = UnsafeMutableRawBufferPointer(rebasing: canvas[target])
                if frame.blending == .over { Self.blend(pixels, over: below) } else { below.copyMemory(from: pixels) }
            }
        }
    }

    private mutating func dispose() {
        guard let (rect, saved) = disposed else { return }
        disposed = nil
        let length = rect.width * 4
        for (row, target) in rows(of: rect).enumerated() {
            pixels.withUnsafeMutableBytes { canvas in
                let pixels = UnsafeMutableRawBufferPointer(rebasing: canvas[target])
                guard let saved else {
                    pixels.initializeMemory(as: UInt8.self, repeating: 0)
                    return
                }
                saved.withUnsafeBytes {
                    pixels.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[row * length..<(row + 1) * length]))
                }
            }
        }
    }

    /// The bytes of each row of a rectangle.
    private func rows(of rect: PixelRect) -> [Range<Int>] {
        (rect.y..<rect.y + rect.height).map { y in
            let start = (y * size.width + rect.x) * 4
            return start..<start + rect.width * 4
        }
    }

    /// Porter and Duff's `over`, with straight alpha.
    private static func blend(_ source: UnsafeRawBufferPointer, over canvas: UnsafeMutableRawBufferPointer) {
        for start in stride(from: 0, to: source.count, by: 4) {
            let alpha = Int(source[start + 3]), below = Int(canvas[start + 3])
            if alpha == 0 { continue }
            // In units of 1/255².
            let (front, back) = (alpha * 255, (255 - alpha) * below)
            let whole = front + back
            for band in start..<start + 3 {
                canvas[band] = UInt8((Int(source[band]) * front + Int(canvas[band]) * back + whole / 2) / whole)
            }
            canvas[start + 3] = UInt8((whole + 127) / 255)
        }
    }
}
