private import CLinux
import Glibc

/// Everything below a directory, met one by one and in no order. One look at each entry; of what was met nothing is kept
/// but the directories still to be entered.
struct DirectoryWalk {
    /// Where it begins.
    let directory: String
    /// Whether what has a hidden name, or lies in such a directory, is met as well.
    let meetsHidden: Bool

    /// Hands every entry to `body` until that answers false. Symbolic links are entries, never followed.
    ///
    /// What vanishes meanwhile is not met; what cannot be looked at is passed over, as SDWebImage does; directories whose
    /// names are no UTF-8 are met but not entered.
    ///
    /// - Throws: `StoreError` when `directory` itself cannot be read, `missing` when it is not there; what `body` throws.
    func visit(_ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError) {
        var waiting = [(path: "", isHidden: false)]
        while let (path, isHidden) = waiting.popLast() {
            let isTop = path.isEmpty
            let place = isTop ? directory : directory + "/" + path
            do throws(StoreError) {
                guard var stream = try DirectoryStream(ifPresent: place, following: isTop) else {
                    if isTop { throw StoreError("open", place, number: ENOENT) }
                    continue
                }
                let descriptor = stream.descriptor
                let prefix = isTop ? "" : path + "/"
                while let isWanted = try stream.next({ name throws(StoreError) -> Bool in
                    let isDotted = name[0] == CChar(bitPattern: UInt8(ascii: "."))
                    guard meetsHidden || !isDotted else { return true }
                    var status = larder_entry()
                    guard larder_read_entry(descriptor, name, &status) == 0 else { return true }
                    let whole = String(validatingCString: name)
                    let entry = CacheEntry(
                        path: prefix + (whole ?? String(cString: name)), isNamedWhole: whole != nil,
                        isHidden: isHidden || isDotted, status)
                    if entry.isDirectory && entry.isNamedWhole { waiting.append((entry.path, entry.isHidden)) }
                    return try body(entry)
                }) {
                    if !isWanted { return }
                }
            } catch {
                // Below the top, a directory that may not be entered is passed over; what `body` throws has its own path.
                guard !isTop, error.path == place else { throw error }
            }
        }
    }
}
