/// Copies files between stores under the same names. Skips files that are already there with the same bytes, so an
/// interrupted copy can be repeated.
package struct StoreCopy: Sendable {
    package enum Outcome: Sendable, Hashable {
        case copied
        /// The destination has the same bytes.
        case present
        /// The destination has other bytes, which are kept.
        case kept
        /// The source no longer has it.
        case vanished
        /// No cache key has this file name: neither store was accessed.
        case stray
    }

    private static let attributes = ["larder.validators", "larder.file", extendedDataAttribute, keyAttribute]

    private let source: any ImageStore
    private let destination: any ImageStore
    private let replaces: Bool

    /// - Parameter replaces: whether to replace files with other bytes; false by default, because they may be newer.
    package init(from source: any ImageStore, to destination: any ImageStore, replacing replaces: Bool = false) {
        self.source = source
        self.destination = destination
        self.replaces = replaces
    }

    /// Copies one file with its extended data and validators. Blocks.
    ///
    /// - Parameter size: in bytes, as listed by the source.
    package func copy(_ name: String, size: Int) throws(StoreError) -> Outcome {
        // A bucket may list any name: `../x` would leave the destination's directory.
        let naming = destination.naming
        guard naming.mayShareNames || name.isVisibleFileName, naming.isFileName(name) else { return .stray }
        if let there = try destination.size(named: name, isUse: false) {
            if there == size, let digest = try destination.digest(named: name),
                try source.digest(named: name) == digest
            {
                return .present
            }
            if !replaces { return .kept }
        }
        guard let file = try source.peek(named: name) else { return .vanished }
        let target = try destination.begin()
        try file.forEachBlock { (block) throws(StoreError) in try target.write(block) }
        for attribute in Self.attributes {
            if let value = try file.attribute(attribute) { try target.setAttribute(attribute, value) }
        }
        _ = try destination.commit(target, named: name) { true }
        return .copied
    }
}
