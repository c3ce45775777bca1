import DiskCache
import Foundation
import Testing

struct CopyFailuresTests {
    private static let ofStore = [
        StoreError("write", "a", number: ENOSPC), StoreError("write", "a", number: EDQUOT),
        StoreError("open", "a", number: EROFS), StoreError("open", "a", number: EMFILE),
        StoreError("open", "a", number: ENOTDIR), StoreError("write", "a", number: EIO),
        StoreError(.missing, "download", "s3://b/a"), StoreError(.machine, "download", "s3://b/a"),
        StoreError(.clockSkewed, "download", "s3://b/a"),
    ]
    private static let ofFile = [
        StoreError(.damaged, "use", "s3://b/a"), StoreError(.tooLarge, "store", "a"),
        StoreError("open", "a", number: ENAMETOOLONG), StoreError("rename", "a", number: EISDIR),
        StoreError("write", "a", number: EFBIG),
    ]
    private static let ofEither = [
        StoreError(.unreachable, "download", "s3://b/a"), StoreError(.permission, "download", "s3://b/a"),
        StoreError(.inputOutput, "download", "s3://b/a"), StoreError("open", "a", number: EACCES),
        StoreError("open", "a", number: ELOOP), StoreError("pread", "a", number: EIO),
        StoreError("rename", "a", number: ENOENT),
    ]

    @Test(arguments: ofStore) func `what every file has ends a copy at once`(error: StoreError) {
        var failures = CopyFailures()
        let thrown = #expect(throws: StoreError.self) { try failures.add(.failure(error)) }
        #expect(thrown == error)
    }

    @Test(arguments: ofFile) func `what only the file has never ends a copy`(error: StoreError) throws {
        var failures = CopyFailures()
        for _ in 0..<3 * CopyFailures.limit { try failures.add(.failure(error)) }
    }

    @Test(arguments: ofEither)
    func `what may concern every file ends a copy when it comes in a row`(error: StoreError) throws {
        var failures = CopyFailures()
        for _ in 0..<3 {
            for _ in 1..<CopyFailures.limit { try failures.add(.failure(error)) }
            try failures.add(.success(.present))
        }
        for _ in 1..<CopyFailures.limit { try failures.add(.failure(error)) }
        // Neither shows that the stores respond.
        try failures.add(.success(.stray))
        try failures.add(.failure(StoreError(.damaged, "use", "s3://b/b")))
        let thrown = #expect(throws: StoreError.self) { try failures.add(.failure(error)) }
        #expect(thrown == error)
    }
}
