import Foundation

extension PrefetchedImages {
    /// Copies the images of a bundle in the naming of Kingfisher or Nuke into the app's caches, where the library finds
    /// them. Files that exist stay. The directory is excluded from backups.
    ///
    /// Call it before the first use of `ImageCache.default`, which lists its directory once, or of the data cache.
    /// Kingfisher takes the modification date for the date of expiry, and a copy may have lost it, so it is set.
    ///
    /// - Parameters:
    ///   - caches: the directory of the app's caches by default.
    ///   - expiry: when Kingfisher is to forget the images; 2100 by default.
    /// - Returns: the number of files copied.
    @discardableResult
    public func install(
        into caches: URL? = nil, expiry: Date = Date(timeIntervalSince1970: 4_102_444_800)
    ) throws -> Int {
        let manager = FileManager.default
        let root =
            try caches
            ?? manager.url(for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        let target = root.appendingPathComponent(imageDirectory.lastPathComponent, isDirectory: true)
        try manager.createDirectory(at: target, withIntermediateDirectories: true)
        #if canImport(Darwin)
            // As SDWebImage's `shouldDisableiCloud`.
            var directory = target, values = URLResourceValues()
            values.isExcludedFromBackup = true
            try directory.setResourceValues(values)
        #endif
        var copied = 0
        for image in all {
            let file = target.appendingPathComponent(image.file)
            if manager.fileExists(atPath: file.path) { continue }
            try manager.copyItem(at: imageDirectory.appendingPathComponent(image.file), to: file)
            try manager.setAttributes([.modificationDate: expiry], ofItemAtPath: file.path)
            copied += 1
        }
        return copied
    }
}
