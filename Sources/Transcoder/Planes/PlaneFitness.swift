internal import ImageModel

extension PlannedOutput {
    /// Whether it can be made from planes: resampled without enlarging, cut at most, opaque, a still JPEG or WebP, and
    /// without anything of the original's metadata.
    var fitsPlanes: Bool {
        guard [.jpeg, .webp].contains(encoding.format), !drawing.hasAlpha, !encoding.isAnimated, !encoding.keepICC,
            !encoding.keepCopyright
        else { return false }
        return PlaneView(drawing.steps, of: drawing.original) != nil
    }
}

extension Encoding {
    /// The planes of chroma it is written with, at the highest quality it is tried at.
    var chroma: PlanarPicture.Chroma { PlanarPicture.chroma(format, quality: quality ?? 0) }
}
