internal import DiskCache
internal import Foundation
private import Glibc
internal import ImageModel
private import Transcoder

extension TemporaryFile {
    /// Writes what `transform` makes of this file's bytes into `target`; nil when it makes nothing. Blocks.
    ///
    /// - Returns: how many bytes were written.
    func transform(
        into target: TemporaryFile, _ url: String, _ transform: DataTransform
    ) throws(LoadError) -> Int? {
        guard let made = transform(try contents(), url), !made.isEmpty else { return nil }
        do throws(StoreError) {
            try made.withUnsafeBytes { bytes in Result { () throws(StoreError) in try target.write(bytes) } }.get()
            return made.count
        } catch {
            throw LoadError(error)
        }
    }

    /// Whether the file's first bytes are those of an accepted picture. Blocks.
    func isAccepted(by gate: FormatGate) -> Bool {
        var bytes = [UInt8](repeating: 0, count: ImageFormat.recognisedBytes)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return bytes[..<max(0, count)].withUnsafeBytes { gate.judge($0) == true }
    }

    /// All of the file's bytes. Blocks.
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
