private import CLinux
import Glibc

/// Visits everything below a directory, in no order. Keeps only the directories still to be read.
struct DirectoryWalk {
    let directory: String
    /// Whether to visit entries with a hidden name, or below one.
    let includesHidden: Bool
    /// Whether `directory` itself may be a symbolic link; false for deletions.
    var followsLink = true

    /// Calls `body` with each entry until it returns false. Does not follow symbolic links.
    ///
    /// Skips entries that are deleted meanwhile or cannot be read, as SDWebImage does, and does not enter directories
    /// whose names are not UTF-8.
    ///
    /// - Throws: `StoreError` if `directory` itself cannot be read, `missing` if it does not exist; what `body` throws.
    func visit(_ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError) {
        var waiting = [(path: "", isHidden: false)]
        while let (path, isHidden) = waiting.popLast() {
            let isTop = path.isEmpty
            let current = isTop ? directory : directory + "/" + path
            do throws(StoreError) {
                guard var names = try DirectoryStream(ifPresent: current, following: isTop && followsLink)
                else {
                    if isTop { throw StoreError("open", current, number: ENOENT) }
                    continue
                }
                let descriptor = names.descriptor
                let prefix = isTop ? "" : path + "/"
                while let continues = try names.next({ name throws(StoreError) -> Bool in
                    let isDotted = name[0] == CChar(bitPattern: UInt8(ascii: "."))
                    guard includesHidden || !isDotted else { return true }
                    var status = larder_entry()
                    guard larder_read_entry(descriptor, name, &status) == 0 else { return true }
                    let exact = String(validatingCString: name)
                    let entry = CacheEntry(
                        path: prefix + (exact ?? String(cString: name)), isPathExact: exact != nil,
                        isHidden: isHidden || isDotted, status)
                    if entry.isDirectory && entry.isPathExact { waiting.append((entry.path, entry.isHidden)) }
                    return try body(entry)
                }) {
                    if !continues { return }
                }
            } catch {
                // Skip unreadable subdirectories; errors of `body` have other paths.
                guard !isTop, error.path == current else { throw error }
            }
        }
    }
}
