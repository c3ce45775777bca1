internal import ImageModel

/// A rectangle with rounded corners, in fractional pixels.
struct RoundedRect: Sendable, Hashable {
    let left, top, right, bottom: Double
    /// Top left, top right, bottom left, bottom right.
    let radii: [Double]

    /// The canvas, inset on each side; nil if nothing is left. The radius is at most half the shorter side.
    init?(_ canvas: PixelSize, inset: Double, radius: Double, corners: Corners) {
        left = inset
        top = inset
        right = Double(canvas.width) - inset
        bottom = Double(canvas.height) - inset
        guard right > left, bottom > top else { return nil }
        let limited = max(0, min(radius, (right - left) / 2, (bottom - top) / 2))
        radii = [Corners.topLeft, .topRight, .bottomLeft, .bottomRight].map { corners.contains($0) ? limited : 0 }
    }

    func covers(_ canvas: PixelSize) -> Bool {
        left <= 0 && top <= 0 && right >= Double(canvas.width) && bottom >= Double(canvas.height)
            && radii.allSatisfy { $0 == 0 }
    }

    /// Adds `weight` × the covered part of each pixel in row `y`: exact along the sides, within 1/500 of a pixel on
    /// arcs, where each row is sliced.
    func addCoverage(ofRow y: Int, weight: Double, to row: inout [Double]) {
        let (upper, lower) = (max(top, Double(y)), min(bottom, Double(y + 1)))
        guard lower > upper else { return }
        let touchesArc = upper < top + max(radii[0], radii[1]) || lower > bottom - max(radii[2], radii[3])
        let slices = touchesArc ? 32 : 1
        let height = (lower - upper) / Double(slices)
        // Stores changes of the coverage per pixel, so that a slice costs the same whatever its length.
        var steps = [Double](repeating: 0, count: row.count + 1)
        for slice in 0..<slices {
            let middle = upper + (Double(slice) + 0.5) * height
            add(
                from: left + inset(middle, radii[0], radii[2]), to: right - inset(middle, radii[1], radii[3]),
                weight: weight * height, &row, &steps)
        }
        var whole = 0.0
        for x in row.indices {
            whole += steps[x]
            row[x] += whole
        }
    }

    /// How far the two arcs of one side indent it at height `y`.
    private func inset(_ y: Double, _ upper: Double, _ lower: Double) -> Double {
        let (radius, depth) = y < top + upper ? (upper, top + upper - y) : (lower, y - (bottom - lower))
        guard radius > 0, depth > 0 else { return 0 }
        return radius - max(0, radius * radius - depth * depth).squareRoot()
    }

    private func add(
        from start: Double, to end: Double, weight: Double, _ row: inout [Double], _ steps: inout [Double]
    ) {
        let (start, end) = (max(0, start), min(Double(row.count), end))
        guard end > start else { return }
        let (first, last) = (Int(start), min(row.count - 1, Int(end)))
        guard first < last else {
            row[first] += weight * (end - start)
            return
        }
        row[first] += weight * (Double(first + 1) - start)
        row[last] += weight * (end - Double(last))
        steps[first + 1] += weight
        steps[last] -= weight
    }
}

extension RoundedRect {
    private init?(left: Double, top: Double, right: Double, bottom: Double, radii: [Double]) {
        guard right > left, bottom > top else { return nil }
        (self.left, self.top, self.right, self.bottom, self.radii) = (left, top, right, bottom, radii)
    }

    /// The outlines of a line of `width` pixels along this one; sharp corners stay sharp.
    func stroked(width: Double) -> (outer: RoundedRect, inner: RoundedRect?)? {
        let half = width / 2
        let outer = RoundedRect(
            left: left - half, top: top - half, right: right + half, bottom: bottom + half,
            radii: radii.map { $0 > 0 ? $0 + half : 0 })
        let inner = RoundedRect(
            left: left + half, top: top + half, right: right - half, bottom: bottom - half,
            radii: radii.map { max(0, $0 - half) })
        return outer.map { ($0, inner) }
    }
}
