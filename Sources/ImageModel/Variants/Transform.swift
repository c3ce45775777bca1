/// One of SDWebImage's transformers with its parameters; lengths are in points, angles in radians.
public enum Transform: Sendable, Hashable {
    /// The whole picture drawn into `width` × `height`.
    case resize(width: Double, height: Double, scaleMode: ScaleMode)
    /// The part of the picture inside a rectangle; origin top-left.
    case crop(x: Double, y: Double, width: Double, height: Double)
    /// Mirrored left-right, top-bottom, or both.
    case flip(horizontal: Bool, vertical: Bool)
    /// Turned counter-clockwise about the centre; with `fitSize` the canvas grows to hold all of it.
    case rotate(angle: Double, fitSize: Bool)
    /// Corners rounded, with a border if a colour is given.
    case roundCorner(radius: Double, corners: Corners, borderWidth: Double, borderColor: Color?)
    /// A colour laid over the picture.
    case tint(color: Color, blendMode: BlendMode)
    /// Blurred; radius 0 leaves the picture alone.
    case blur(radius: Double)
    /// A Core Image filter.
    case filter(Filter)

    /// How a picture fills the size it is resized to; the raw values are SDWebImage's.
    public enum ScaleMode: Int, Sendable, Hashable, CaseIterable {
        /// Stretched to the size.
        case fill
        /// As large as fits, the rest transparent.
        case aspectFit
        /// As small as covers, the overflow cut.
        case aspectFill
    }

    /// The `type` in variant JSON.
    public var typeName: String {
        switch self {
        case .resize: "resize"
        case .crop: "crop"
        case .flip: "flip"
        case .rotate: "rotate"
        case .roundCorner: "roundCorner"
        case .tint: "tint"
        case .blur: "blur"
        case .filter: "filter"
        }
    }
}
