internal import ImageModel

extension Raster {
    /// Applies a filter in linear light, as Core Image does; alpha is unchanged.
    func filter(_ filter: Filter) {
        if let tone = filter.tone {
            mapLinear { color, _ in tone(color) }
            return
        }
        switch filter.name {
        case "CISharpenLuminance":
            sharpen(filter["inputSharpness"], radius: filter["inputRadius"], luminanceOnly: true)
        case "CIUnsharpMask":
            sharpen(filter["inputIntensity"], radius: filter["inputRadius"], luminanceOnly: false)
        case "CIPixellate": pixellate(side: max(1, Int(filter["inputScale"].rounded())))
        case "CIVignette": vignette(filter["inputIntensity"], radius: filter["inputRadius"])
        default: break
        }
    }

    private func linear(_ index: Int) -> SIMD3<Float> {
        LinearLight.values.withUnsafeBufferPointer { values in
            SIMD3(
                values[Int(bytes[index * 4])], values[Int(bytes[index * 4 + 1])], values[Int(bytes[index * 4 + 2])])
        }
    }

    /// Changes the colour of every pixel that is not fully transparent.
    private func mapLinear(_ change: (SIMD3<Float>, Int) -> SIMD3<Float>) {
        for index in 0..<width * height {
            let alpha = bytes[index * 4 + 3]
            guard alpha > 0 else {
                store(0, 0, 0, 0, index)
                continue
            }
            let color = change(linear(index), index)
            store(LinearLight.byte(color.x), LinearLight.byte(color.y), LinearLight.byte(color.z), alpha, index)
        }
    }

    /// Adds the difference from a blurred copy, times `amount`. The blur weighs pixels by alpha: transparent pixels are
    /// black and would lighten the outline of opaque areas.
    private func sharpen(_ amount: Double, radius: Double, luminanceOnly: Bool) {
        guard amount > 0, radius > 0 else { return }
        let weights =
            luminanceOnly
            ? [SIMD3<Float>(0.2126, 0.7152, 0.0722)] : [SIMD3<Float>(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)]
        func opacity(_ index: Int) -> Float { Float(bytes[index * 4 + 3]) / 255 }
        var opacities = Plane(width: width, height: height, opacity)
        opacities.blur(sigma: radius)
        let details = weights.map { (weight) -> [Float] in
            var plane = Plane(width: width, height: height) { (linear($0) * weight).sum() * opacity($0) }
            plane.blur(sigma: radius)
            return plane.values.indices.map { (index) -> Float in
                let around = opacities.values[index]
                // Below that rounding errors show.
                guard around > 1e-6 else { return 0 }
                return Float(amount) * ((linear(index) * weight).sum() - plane.values[index] / around)
            }
        }
        mapLinear { color, index in
            color
                + (luminanceOnly
                    ? SIMD3(repeating: details[0][index])
                    : SIMD3(details[0][index], details[1][index], details[2][index]))
        }
    }

    /// Fills squares of `side` pixels, from the top left, with their mean colour.
    private func pixellate(side: Int) {
        for top in stride(from: 0, to: height, by: side) {
            for left in stride(from: 0, to: width, by: side) {
                let (bottom, right) = (min(height, top + side), min(width, left + side))
                var sum = SIMD4<Float>.zero
                for y in top..<bottom {
                    for x in left..<right {
                        let index = y * width + x
                        let alpha = Float(bytes[index * 4 + 3])
                        sum += SIMD4(linear(index) * alpha, alpha)
                    }
                }
                let mean = sum.w > 0 ? sum / sum.w : .zero
                let alpha = UInt8((sum.w / Float((bottom - top) * (right - left))).rounded())
                for y in top..<bottom {
                    for x in left..<right {
                        store(
                            LinearLight.byte(mean.x), LinearLight.byte(mean.y), LinearLight.byte(mean.z), alpha,
                            y * width + x)
                    }
                }
            }
        }
    }

    /// Darkens by the square of the distance from the centre; the corners have distance 1.
    private func vignette(_ intensity: Double, radius: Double) {
        let (centreX, centreY) = (Double(width) / 2, Double(height) / 2)
        let corner = centreX * centreX + centreY * centreY
        mapLinear { color, index in
            let (x, y) = (Double(index % width) + 0.5 - centreX, Double(index / width) + 0.5 - centreY)
            return color * Float(max(0, 1 - intensity * (x * x + y * y) / corner / (radius * radius)))
        }
    }
}

private struct Plane {
    let width, height: Int
    private(set) var values: [Float]

    init(width: Int, height: Int, _ value: (Int) -> Float) {
        self.width = width
        self.height = height
        values = (0..<width * height).map(value)
    }

    /// Three box filters along each axis, close to a Gaussian.
    mutating func blur(sigma: Double) {
        let reach = BoxBlur.width(exactRadius: sigma) / 2
        for _ in 0..<3 {
            for y in 0..<height { slide(start: y * width, step: 1, count: width, reach) }
            for x in 0..<width { slide(start: x, step: width, count: height, reach) }
        }
    }

    private mutating func slide(start: Int, step: Int, count: Int, _ reach: Int) {
        let line = (0..<count).map { Double(values[start + $0 * step]) }
        var sum = 0.0
        for index in -reach...reach { sum += line[min(count - 1, max(0, index))] }
        for index in 0..<count {
            values[start + index * step] = Float(sum / Double(2 * reach + 1))
            sum += line[min(count - 1, index + reach + 1)] - line[max(0, index - reach)]
        }
    }
}
