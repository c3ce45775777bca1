import Testing

@testable import larder

/// Which database of a list a batch goes to, and which texts are a list.
struct DatabaseListTests {
    private func positions(_ name: String, _ count: Int) -> [Int] { DatabaseList.order(of: name, among: count) }

    @Test func `the order is that of SHA-256, the same in every version and on every machine`() {
        #expect(positions("spring", 1) == [0])
        #expect(positions("spring", 2) == [1, 0])
        #expect(positions("spring", 4) == [2, 1, 3, 0])
        #expect(positions("nightly", 3) == [1, 2, 0])
        #expect(positions("c", 2) == [0, 1])
        #expect(positions("e", 4) == [0, 2, 1, 3])
    }

    @Test func `all runs of a name have its order`() {
        for run in ["@1", "@-1", "@123456789"] {
            #expect(positions("nightly" + run, 4) == positions("nightly", 4), "\(run)")
        }
        // SQL reads these as names.
        for other in ["@", "@x", "@1234567890", "@1x", "@1@"] {
            #expect((1...8).contains { positions("nightly" + other, $0) != positions("nightly", $0) }, "\(other)")
        }
    }

    @Test func `a database that is appended takes its share of names, and the order of the others stays`() {
        let names = (1...1_000).map { "batch-\($0)" }
        for count in 1...6 {
            var moved = 0
            for name in names {
                let before = positions(name, count), after = positions(name, count + 1)
                #expect(after.filter { $0 != count } == before, "\(name) of \(count)")
                // The former place of a name is where it is looked for next.
                if after[0] == count { moved += 1 } else { #expect(after[0] == before[0]) }
            }
            // A hundred more or less would be six standard deviations.
            #expect(abs(moved - names.count / (count + 1)) < 100, "\(moved) of \(count)")
        }
    }

    @Test func `a URL is shown without user, password and parameters`() throws {
        let shown: [(url: String, label: String)] = [
            ("postgresql://shop:hush@db1.internal/larder?sslmode=require", "db1.internal/larder"),
            ("postgres://db1:6432/larder", "db1:6432/larder"),
            ("postgresql://shop:h@sh@[::1]:5433/larder", "[::1]:5433/larder"),
            ("postgresql://a:5432,b:5432/larder", "a:5432,b:5432/larder"),
            ("postgresql:///larder?port=5433&host=%2Frun%2Fpg&password=hush", "/run/pg:5433/larder"),
            ("postgresql://?service=images", "/?service=images"),
            ("host=db1 password=hush", "database 1"),
        ]
        for (url, label) in shown {
            #expect(try DatabaseList([url]).databases == [.init(url: url, label: label)])
        }
    }

    @Test func `URLs are separated by white space, a string of keywords is one database`() throws {
        let two = ["postgresql://a/x", "postgresql://b/x"]
        for values in [two, [two.joined(separator: " ")], ["\(two[0])\n\(two[1])\n"]] {
            #expect(try DatabaseList(values).databases.map(\.url) == two, "\(values)")
        }
        #expect(
            try DatabaseList(["host=a dbname=x", "host=b"]).databases.map(\.label) == ["database 1", "database 2"])
        #expect(try DatabaseList([]).databases.isEmpty)
    }

    @Test(arguments: [
        ["postgresql://a/x,postgresql://b/x"], ["postgresql://a/x", "postgresql://a/x"], ["postgresql://a/x host=b"],
        ["postgresql://one:hush@a/x postgres://two@a/x?sslmode=disable"], ["host=a", "host=b", "host=a"],
    ])
    func `a list with a comma, with something else than URLs, or with a database twice is refused`(values: [String]) {
        let error = #expect(throws: CommandError.self) { try DatabaseList(values) }
        #expect(error?.exit == .wrongUsage && error?.message.contains("hush") == false, "\(error?.message ?? "")")
    }

    @Test func `a file may have a list, of URLs only`() throws {
        let file = try ConfigurationFile(text: "[database]\nurl = [\"postgresql://a,b/x\", \"postgresql://c/x\"]\n")
        let value = try #require(file.values["DATABASE_URL"]?.text)
        #expect(try DatabaseList([value]).databases.map(\.label) == ["a,b/x", "c/x"])
        let wrong = try ConfigurationFile(text: "[database]\nurl = [\"postgresql://a/x\", \"host=b\"]\n")
        #expect(wrong.problems.first?.contains("database.url: the elements of a list must be URLs") == true)
    }
}
