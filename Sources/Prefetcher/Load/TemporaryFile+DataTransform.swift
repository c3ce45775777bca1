internal import DiskCache
internal import FoundationEssentials

extension TemporaryFile {
    /// Writes the bytes that `transform` makes of this file's into `target`. Blocks.
    ///
    /// - Returns: the bytes written; nil when `transform` returned none.
    func transform(into target: TemporaryFile, _ url: String, _ transform: DataTransform) throws(LoadError) -> Data? {
        guard let made = transform(Data(try storing(try bytes())), url), !made.isEmpty else { return nil }
        let result = made.withUnsafeBytes { bytes in Result { () throws(StoreError) in try target.write(bytes) } }
        try storing(try result.get())
        return made
    }
}
