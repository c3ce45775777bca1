internal import ImageModel

extension Encoding {
    /// Nanoseconds per pixel of one file.
    var nanoseconds: Double {
        guard let output = format.output else { return 0 }
        let usual = isAnimated ? output.animatedNanoseconds ?? output.nanoseconds : output.nanoseconds
        return usual * costFactor
    }

    /// The same for all files that a quality search makes.
    var searchNanoseconds: Double { nanoseconds * attempts }

    /// Factor for the slowest images.
    var margin: Double { format.output?.margin ?? 1 }

    /// Minimum nanoseconds per frame of an animation.
    var frameNanoseconds: Double { format.output?.frameNanoseconds ?? 0 }

    /// Expected encodings: a byte limit takes about four.
    private var attempts: Double {
        // A similarity takes about seven, each decoded again and compared.
        if ssim != nil { return 9 }
        return maxBytes == nil || quality == nil ? 1 : 4
    }

    /// Time relative to the format's default settings. Measured with libvips 8.14.1 and libwebp 1.2.4 on photographs of
    /// 640 pixels, accurate to a third.
    private var costFactor: Double {
        guard let options else { return 1 }
        switch format {
        case .webp:
            if isLossless { return options.effort == 0 ? 2 : 11 }
            return Self.factor([0.3, 0.35, 0.45, 1, 1, 1.2, 2.5], options.effort)
        case .avif: return Self.factor([0.35, 1, 1.6, 4.1, 14, 20, 31, 55, 72, 80], options.effort)
        case .png:
            if options.palette == true { return 15 }
            return Self.factor([0.1, 0.6, 0.6, 0.6, 0.8, 0.9, 1, 1.2, 1.5, 1.5], options.compression)
        case .jpeg: return options.progressive == true ? 1.5 : 1
        case .jxl:
            return isLossless
                ? Self.factor([1, 1, 1, 1.3, 7, 9, 10, 14, 60, 160], options.effort ?? 3)
                : Self.factor([1, 1, 1, 0.4, 0.4, 1, 1.3, 2, 10, 15], options.effort)
        case .tiff:
            switch options.tiffCompression {
            case nil, .lzw: return 1
            case .deflate: return 6
            case .off, .packbits: return 0.3
            }
        default: return 1
        }
    }

    /// The encoder's bytes of memory per pixel, measured in the same way.
    var bytesPerPixel: Int {
        guard let usual = format.output?.bytes else { return 0 }
        guard format == .jxl, let options else { return usual }
        let effort = options.effort ?? 0
        return usual * (effort >= 8 ? 5 : isLossless || effort > 5 ? 2 : 1)
    }

    private static func factor(_ factors: [Double], _ level: Int?) -> Double {
        guard let level, factors.indices.contains(level) else { return 1 }
        return factors[level]
    }
}
