internal import DiskCache
internal import Foundation
private import Glibc
private import ImageModel

/// Reading back what was written. All calls block.
extension TemporaryFile {
    /// Writes what `transform` makes of this file's bytes into `target`.
    ///
    /// - Returns: the number of bytes written; nil when `transform` returned none.
    func transform(
        into target: TemporaryFile, _ url: String, _ transform: DataTransform
    ) throws(LoadError) -> Int? {
        guard let made = transform(try contents(), url), !made.isEmpty else { return nil }
        let result = made.withUnsafeBytes { bytes in Result { () throws(StoreError) in try target.write(bytes) } }
        try storing(try result.get())
        return made.count
    }

    /// Whether the first bytes are those of an accepted image.
    func isAccepted(by formats: FormatGate) -> Bool {
        var bytes = [UInt8](repeating: 0, count: ImageFormat.recognisedBytes)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return bytes[..<max(0, count)].withUnsafeBytes { formats.accepts($0) }
    }

    /// All bytes of the file.
    func contents() throws(LoadError) -> Data {
        var status = stat()
        var data = Data(count: fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0)
        let count = data.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == data.count else {
            throw LoadError(
                stage: .store, domain: "LarderErrorDomain", code: 403,
                message: "\(path): cannot be read back: \(String(cString: strerror(errno)))")
        }
        return data
    }
}
