import Concurrency
import Foundation
import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct ResolverTests {
    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test func `the system's lookup finds localhost, and nothing for an invalid name`() async throws {
        let resolver = Resolver(threads: 1)
        let found = try await resolver.addresses(of: "localhost", within: .seconds(30))
        #expect(found.allSatisfy { $0.description == "127.0.0.1" || $0.description == "::1" })
        #expect(!found.isEmpty)
        await #expect(throws: LookupFailure.notFound) {
            _ = try await resolver.addresses(of: "no such name", within: .seconds(30))
        }
    }

    @Test func `the name server lookup finds localhost, and nothing for an invalid name`() async throws {
        let resolver = Resolver()
        let found = try await resolver.addresses(of: "localhost", within: .seconds(30))
        #expect(found.allSatisfy { $0.description == "127.0.0.1" || $0.description == "::1" })
        #expect(!found.isEmpty)
        await #expect(throws: LookupFailure.self) {
            _ = try await resolver.addresses(of: String(repeating: "a", count: 70) + ".test", within: .seconds(30))
        }
    }

    @Test
    func `a name server that never answers AAAA delays a lookup by 300 ms, and the IPv4 address is found`() async throws
    {
        let server = try IPv4NameServer(address: [192, 0, 2, 7])
        let names = NameServers(servers: "127.0.0.1:\(server.port)")
        let resolver = Resolver { host, done in names.query(host, done) }
        let found = try await resolver.addresses(of: "image.example.", within: .seconds(60))
        #expect(try found == [address("192.0.2.7")])
        #expect(server.names.allSatisfy { $0 == "image.example" })
    }

    @Test func `a name that has no IPv4 address is not found, though AAAA is never answered`() async throws {
        let server = try IPv4NameServer(address: [])
        let names = NameServers(servers: "127.0.0.1:\(server.port)")
        let resolver = Resolver { host, done in names.query(host, done) }
        await #expect(throws: LookupFailure.notFound) {
            _ = try await resolver.addresses(of: "image.example.", within: .seconds(60))
        }
    }

    @Test func `an unanswered AAAA query costs the system's lookup 300 ms, also when no thread is left`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let expected = try address("192.0.2.7")
        let names = SystemNames(threads: 1) { host, family in
            if family == .v4 { return host == "none.example" ? .failure(.notFound) : .success([expected]) }
            // As `getaddrinfo` waits for the time-outs of AAAA.
            gate.wait()
            return .success([expected])
        }
        let resolver = Resolver(lookup: names.query)
        for host in ["a.example", "b.example"] {
            #expect(try await resolver.addresses(of: host, within: .seconds(60)) == [expected])
        }
        // A name that has no IPv4 address may have others.
        async let other = resolver.addresses(of: "none.example", within: .seconds(60))
        gate.signal()
        gate.signal()
        #expect(try await other == [expected])
    }

    @Test func `the name of a rooted host ends with its dot, so that no search suffix is tried`() throws {
        #expect(try SourceURL("http://image.example./a").lookupName == "image.example.")
        #expect(try SourceURL("http://image.example/a").lookupName == "image.example")
        #expect(try SourceURL("http://192.0.2.1./a").lookupName == "192.0.2.1")
        #expect(try SourceURL("http://LOCALHOST./a").lookupName == "localhost", "it is in no name server")
    }

    @Test func `unanswered names delay no others`() async throws {
        let expected = try address("192.0.2.1")
        let silent = Locked<[@Sendable (LookupCache.Answer) -> Void]>([])
        let resolver = Resolver { host, done in
            if host.hasPrefix("dead") { silent.withLock { $0.append(done) } } else { done(.success([expected])) }
        }
        await withTaskGroup(of: LookupFailure?.self) { group in
            for number in 0..<350 {
                group.addTask {
                    do throws(LookupFailure) {
                        _ = try await resolver.addresses(of: "dead\(number)", within: .seconds(3600))
                        return nil
                    } catch { return error }
                }
            }
            #expect((try? await resolver.addresses(of: "alive", within: .seconds(3600))) == [expected])
            #expect(await reached { silent.withLock { $0.count } == 350 })
            // Removed from the list: each callback references the resolver, which references this list.
            let held = silent.withLock { held in
                defer { held = [] }
                return held
            }
            for done in held { done(.failure(.timedOut)) }
            for await failure in group { #expect(failure == .timedOut) }
        }
    }

    @Test func `an answer that is not cached reaches the caller, also when the lookup ends at once`() async {
        let resolver = Resolver { _, done in done(.failure(.unreachable)) }
        await #expect(throws: LookupFailure.unreachable) {
            _ = try await resolver.addresses(of: "a.example", within: .seconds(3600))
        }
    }

    @Test func `an address needs no lookup`() async throws {
        let resolver = Resolver(threads: 1) { _ in .failure(.notFound) }
        #expect(try await resolver.addresses(of: "10.0.0.1", within: .seconds(3)) == [address("10.0.0.1")])
    }

    @Test func `requests for one name share a lookup, whose answer is cached`() async throws {
        let calls = Locked(0)
        let gate = DispatchSemaphore(value: 0)
        let expected = try address("192.0.2.1")
        let resolver = Resolver(threads: 4) { _ in
            calls.withLock { $0 += 1 }
            gate.wait()
            return .success([expected])
        }
        try await withThrowingTaskGroup(of: [IPAddress].self) { group in
            for _ in 0..<20 { group.addTask { try await resolver.addresses(of: "a", within: .seconds(30)) } }
            gate.signal()
            for try await found in group { #expect(found == [expected]) }
        }
        #expect(try await resolver.addresses(of: "a", within: .seconds(30)) == [expected])
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a wait ends after the limit and when cancelled, also while the lookup is blocked`() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let started = AsyncStream<Void>.makeStream()
        let resolver = Resolver(threads: 1) { _ in
            started.continuation.yield()
            gate.wait()
            return .failure(.notFound)
        }
        await #expect(throws: LookupFailure.timedOut) {
            _ = try await resolver.addresses(of: "stuck", within: .seconds(2))
        }
        var starts = started.stream.makeAsyncIterator()
        await starts.next()
        await withTaskGroup(of: LookupFailure?.self) { group in
            group.addTask {
                do throws(LookupFailure) {
                    _ = try await resolver.addresses(of: "behind", within: .seconds(3600))
                    return nil
                } catch {
                    return error
                }
            }
            group.cancelAll()
            let next = await group.next()
            #expect(next == .cancelled)
        }
    }

    @Test func `answers are cached for a minute, failures for five seconds, within the capacity`() throws {
        var cache = LookupCache(capacity: 2)
        let now = ContinuousClock.now
        let found = LookupCache.Answer.success([try address("192.0.2.1")])
        cache.store(found, for: "a", at: now)
        cache.store(.failure(.notFound), for: "b", at: now)
        #expect(cache.answer(for: "a", at: now + .seconds(59)) == found)
        #expect(cache.answer(for: "a", at: now + .seconds(60)) == nil)
        #expect(cache.answer(for: "b", at: now + .seconds(4)) == .failure(.notFound))
        #expect(cache.answer(for: "b", at: now + .seconds(5)) == nil)
        // Time-outs of name servers are cached as well.
        cache.store(.failure(.timedOut), for: "b", at: now + .seconds(5))
        #expect(cache.answer(for: "b", at: now + .seconds(9)) == .failure(.timedOut))
        cache.store(.failure(.cancelled), for: "a", at: now + .seconds(5))
        #expect(cache.answer(for: "a", at: now + .seconds(5)) == found)
        cache = LookupCache(capacity: 2)
        cache.store(found, for: "a", at: now)
        cache.store(.failure(.notFound), for: "b", at: now)
        cache.store(found, for: "c", at: now + .seconds(6))
        #expect(cache.answer(for: "a", at: now + .seconds(6)) == found)
        cache.store(found, for: "d", at: now + .seconds(6))
        #expect(cache.answer(for: "a", at: now + .seconds(6)) == nil)
        #expect(cache.answer(for: "d", at: now + .seconds(6)) == found)
    }
}
