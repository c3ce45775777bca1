/// Colours under transparency, for filters that ignore alpha.
extension Raster {
    /// Mixes the colour of each pixel that is more transparent than those around it with theirs, so that there is no
    /// edge at the outline of what is opaque.
    ///
    /// - Parameter blurred: the straight pixels of the same image, blurred as premultiplied ones.
    func fillTransparency(from blurred: UnsafePointer<UInt8>) {
        for start in stride(from: 0, to: bytes.count, by: 4) {
            let alpha = Int(bytes[start + 3]), around = Int(blurred[start + 3])
            guard alpha < around else { continue }
            for band in start..<start + 3 {
                let mixed = Int(bytes[band]) * alpha + Int(blurred[band]) * (around - alpha)
                bytes[band] = UInt8((mixed + around / 2) / around)
            }
        }
    }

    /// Changes an image's own colours by as much as a filter changed the filled ones, which are here; a transparent
    /// pixel becomes zeros.
    ///
    /// - Parameters:
    ///   - own: the pixels before they were filled.
    ///   - filled: the pixels before the filter.
    func restoreColors(_ own: UnsafePointer<UInt8>, filled: UnsafePointer<UInt8>) {
        for start in stride(from: 0, to: bytes.count, by: 4) {
            guard bytes[start + 3] > 0 else {
                store(0, 0, 0, 0, start / 4)
                continue
            }
            for band in start..<start + 3 {
                bytes[band] = UInt8(min(max(Int(bytes[band]) + Int(own[band]) - Int(filled[band]), 0), 255))
            }
        }
    }
}
