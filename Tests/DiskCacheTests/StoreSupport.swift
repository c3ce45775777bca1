import Foundation

@testable import DiskCache

extension DirectoryStore {
    /// Stores a text.
    func store(_ text: String, as key: CacheKey, extendedData: [UInt8]? = nil) throws {
        let file = try begin()
        try write(text, to: file)
        if let extendedData { try file.setExtendedData(extendedData) }
        try commit(file, as: key)
    }
}

extension CacheKey {
    /// The name of the key's file by SDWebImage's naming.
    var fileName: String { SDWebImageNaming().fileName(of: self) }
}

func write(_ text: String, to file: TemporaryFile) throws {
    try Data(text.utf8).withUnsafeBytes { try file.write($0) }
}

/// The contents of an open file.
func contents(_ file: OpenFile) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: file.size)
    let length = pread(file.descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(length, 0)))
}

/// The code of the store error that `body` throws; nil when it throws none.
func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? StoreError)?.code
    }
}

func status(_ path: String) -> stat {
    var status = stat()
    lstat(path, &status)
    return status
}

/// Extended attributes, read and written without the code under test; Swift's Glibc leaves the calls out.
enum Attributes {
    /// Whether the file system of temporary directories keeps them.
    static var areKept: Bool {
        guard let directory = try? TemporaryDirectory() else { return false }
        return set("user.test", [1], of: directory.path)
    }

    /// Whether it could be set.
    static func set(_ name: String, _ bytes: [UInt8], of path: String) -> Bool {
        typealias Call =
            @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) -> Int32
        guard let symbol = dlsym(nil, "setxattr") else { return false }
        return unsafeBitCast(symbol, to: Call.self)(path, name, bytes, bytes.count, 0) == 0
    }

    static func read(_ name: String, of path: String) -> [UInt8]? {
        typealias Call =
            @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int
        guard let symbol = dlsym(nil, "getxattr") else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1000)
        let length = unsafeBitCast(symbol, to: Call.self)(path, name, &bytes, bytes.count)
        return length < 0 ? nil : Array(bytes.prefix(length))
    }
}
