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
            // A wrong digest of a request says nothing about the object.
            case .throttled, .serverFailed, .unreachable, .badDigest: .unreachable
            case .held, .untrusted, .otherRegion, .noCredentials: .unavailable
            case .localFault: .machine
            case .invalidAddress: .invalidName
            case .fileFailed, .refused, .withdrawn: .inputOutput
            }
        self.init(code, operation, path, cause: error.message)
    }
}
