import Foundation
import TestSupport
import Testing

@testable import DiskCache

@Suite(.timeLimit(.minutes(5)))
struct ExpiryDecisionTests {
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        struct File: Decodable, Sendable {
            let name: String
            let date: Int?
            let alloc: Int
        }

        let rule: String
        let now, maxAge, maxSize: Int
        let files: [File]
        let deleted: [String]
        var testDescription: String { rule }

        static func all() throws -> [Row] {
            let file = KeyVectors.vectors.appending(path: "expiry_vectors.json")
            return try JSONDecoder().decode([Row].self, from: Data(contentsOf: file))
        }
    }

    @Test(arguments: try Row.all())
    func `follows SDWebImage`(row: Row) {
        let policy = ExpiryPolicy(maxAge: .seconds(row.maxAge), maxSize: row.maxSize)
        for files in [row.files, row.files.reversed()] {
            let gone = expired(
                files.map { ($0.name, $0.date.map(Timestamp.init(seconds:)), $0.alloc) }, policy,
                now: Timestamp(seconds: row.now))
            #expect(gone.sorted() == row.deleted.sorted(), "in any order")
        }
    }

    @Test func `has SDWebImage's defaults`() {
        let policy = ExpiryPolicy()
        #expect(policy.maxAge == .seconds(7 * 24 * 60 * 60))
        #expect(policy.maxSize == 0)
        #expect(policy.date == .access)
        #expect(ExpiryPolicy.DateKind.allCases.map(\.rawValue) == [0, 1, 2, 3])
        #expect(ExpiryPolicy.DateKind.allCases == [.access, .modification, .creation, .change])
    }

    @Test func `counts fractions of a second`() {
        let now = Timestamp(nanoseconds: 10_000_000_005)
        let dates: [Int64] = [8_000_000_004, 8_000_000_005, 8_000_000_006]
        let gone = expired(
            dates.map { ("\($0)", Timestamp(nanoseconds: $0), 1) }, ExpiryPolicy(maxAge: .seconds(2)), now: now)
        #expect(gone.sorted() == ["8000000004", "8000000005"])
    }

    @Test(arguments: [Duration.seconds(Int64.max / 2), .seconds(Int64.max), .seconds(400 * 365 * 86_400)])
    func `accepts an age longer than all time`(age: Duration) {
        let dates: [Timestamp] = [Timestamp(seconds: 0), Timestamp(seconds: 1)]
        #expect(expired(dates.map { ("a", $0, 1) }, ExpiryPolicy(maxAge: age), now: .now).isEmpty)
    }

    @Test(arguments: 0..<200)
    func `selects the same files as a full sort, failures included`(seed: Int) {
        var generator = SplitMix64(seed: UInt64(seed))
        let count = Int.random(in: 0...60, using: &generator)
        let files: [(String, Timestamp?, Int)] = (0..<count).map { number in
            let date = Timestamp(seconds: Int.random(in: 0...40, using: &generator))
            return (name(number, &generator), date, 512 * Int.random(in: 0...20, using: &generator))
        }
        let stuck = Set(files.map(\.0).filter { _ in Int.random(in: 0..<5, using: &generator) == 0 })
        let policy = ExpiryPolicy(
            maxAge: [nil, .seconds(20), .seconds(0)].randomElement(using: &generator) ?? nil,
            maxSize: Int.random(in: 0...200_000, using: &generator))
        let now = Timestamp(seconds: 35)
        #expect(
            Set(expired(files, policy, now: now, undeletable: stuck)) == sorted(files, policy, now: now, stuck: stuck))
    }

    @Test func `spares files in use and selects others instead`() {
        var decision = ExpiryDecision(ExpiryPolicy(maxAge: nil, maxSize: 10_000), now: Timestamp(seconds: 9))
        var gone: [String] = []
        for (number, name) in ["a", "b", "c"].enumerated() {
            _ = decision.add(name, date: Timestamp(seconds: number), allocated: 4096, isSpared: name == "a")
            while let (_, name) = decision.next() { gone.append(name) }
        }
        #expect(gone == ["b", "c"])
        var old = ExpiryDecision(ExpiryPolicy(maxAge: .zero), now: Timestamp(seconds: 9))
        #expect(old.add("a", date: Timestamp(seconds: 1), allocated: 1, isSpared: true) == .spared)
        #expect(old.add("a", date: Timestamp(seconds: 1), allocated: 1) == .tooOld)
    }

    @Test(arguments: [
        "0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff.png", "0123456789ABCDEF0123456789abcdef",
        "", "a", "sub/0123456789abcdef0123456789abcdef.png", "00000000000000000000000000000000.000000},2)",
        "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdefé.図",
    ])
    func `packs names losslessly`(name: String) {
        var table = PackedName.Table()
        _ = table.pack("other")
        let packed = table.pack(name)
        #expect(same(table.text(packed), name))
        #expect(table.pack(name) == packed)
        #expect(MemoryLayout<ExpiryDecision.File>.stride == 32)
    }

    @Test func `distinguishes names byte by byte`() {
        var table = PackedName.Table()
        let digest = "0123456789abcdef0123456789abcdef"
        for front in [digest + ".", ""] {
            let names = [front + "caf\u{e9}", front + "cafe\u{301}"]
            #expect(names[0] == names[1], "they are equal as Swift strings")
            let packed = names.map { table.pack($0) }
            #expect(packed[0] != packed[1])
            for (packed, name) in zip(packed, names) {
                #expect(same(table.text(packed), name))
                #expect(table.find(name) == packed)
            }
        }
    }

    @Test func `holds extensions only as long as their names`() {
        var decision = ExpiryDecision(ExpiryPolicy(maxAge: nil, maxSize: 100 * 512), now: Timestamp(seconds: 9))
        let digest = "0123456789abcdef0123456789abcdef"
        var gone: [String] = []
        for number in 0..<10_000 {
            _ = decision.add("\(digest).\(number)", date: Timestamp(seconds: number), allocated: 512)
            while let (_, name) = decision.next() { gone.append(name) }
        }
        #expect(gone == (0..<gone.count).map { "\(digest).\($0)" }, "each has its own name")
        #expect(decision.extensionCount == 10_000 - gone.count)
        #expect(decision.extensionCount < 100)
        var table = PackedName.Table()
        let first = table.pack("a")
        #expect(table.pack("a") == first)
        table.release(first)
        #expect(table.text(first) == "a", "packed twice, released once")
        table.release(first)
        #expect(table.count == 0)
        #expect(table.find("a") == nil)
    }

    // MARK: -

    private func expired(
        _ files: [(String, Timestamp?, Int)], _ policy: ExpiryPolicy, now: Timestamp, undeletable: Set<String> = []
    ) -> [String] {
        var decision = ExpiryDecision(policy, now: now)
        var gone: [String] = []
        for (name, date, allocated) in files {
            if decision.add(name, date: date, allocated: allocated) == .tooOld && !undeletable.contains(name) {
                gone.append(name)
            }
            while let (file, name) = decision.next() {
                if undeletable.contains(name) { decision.couldNotDelete(file) } else { gone.append(name) }
            }
        }
        return gone
    }

    /// The rules applied to a sorted list, oldest first.
    private func sorted(
        _ files: [(String, Timestamp?, Int)], _ policy: ExpiryPolicy, now: Timestamp, stuck: Set<String>
    ) -> Set<String> {
        var gone: Set<String> = []
        var rest: [(String, Timestamp, Int)] = []
        for (name, date, allocated) in files {
            guard let date else { continue }
            if let age = policy.maxAge, date <= now - age {
                gone.insert(name)
            } else {
                rest.append((name, date, allocated))
            }
        }
        gone.subtract(stuck)
        var sum = rest.reduce(0) { $0 + $1.2 }
        guard policy.maxSize > 0, sum > policy.maxSize else { return gone }
        rest.sort { ($0.1, $0.0) < ($1.1, $1.0) }
        for (name, _, allocated) in rest {
            guard sum >= policy.maxSize / 2 else { break }
            if stuck.contains(name) { continue }
            gone.insert(name)
            sum -= allocated
        }
        return gone
    }

    /// A file name whose order is the same as text and as packed name.
    private func name(_ number: Int, _ generator: inout SplitMix64) -> String {
        let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
