package import DiskCache

extension StoreError {
    /// The failure of an object store as one of a store.
    ///
    /// - Parameter operation: what failed, as the words after "cannot": `upload`.
    package init(_ error: ObjectStoreError, _ operation: String, _ path: String) {
        let code: Code =
            switch error.code {
            case .noBucket, .noObject: .missing
            case .preconditionFailed, .conflict: .busy
            case .accessDenied, .badCredentials: .permission
            case .clockSkewed: .clockSkewed
            case .unsupported: .unsupported
            case .throttled, .serverFailed, .unreachable, .held: .unreachable
            case .badDigest: .damaged
            case .localFault: .machine
            case .invalidAddress: .invalidName
            case .otherRegion, .fileFailed, .refused: .inputOutput
            }
        self.init(code, operation, path, cause: error.message)
    }
}
