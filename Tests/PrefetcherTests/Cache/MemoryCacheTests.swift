import DiskCache
import Foundation
import Prefetcher
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MemoryCacheTests {
    private func key(_ number: Int) -> CacheKey { CacheKey("\(number)") }

    @Test func `keeps everything without limits`() {
        let cache = MemoryCache<Int>()
        #expect(cache.costLimit == 0)
        #expect(cache.countLimit == 0)
        for number in 0..<1000 { cache.store(number, for: key(number), cost: 1 << 40) }
        #expect(cache.count == 1000)
        #expect((0..<1000).allSatisfy { cache.value(for: key($0)) == $0 })
    }

    @Test func `evicts the least recently used value`() {
        let cache = MemoryCache<Int>(countLimit: 3)
        for number in 1...3 { cache.store(number, for: key(number)) }
        #expect(cache.value(for: key(1)) == 1)
        #expect(cache.contains(key(2)), "contains is not a use")
        cache.store(4, for: key(4))
        #expect(cache.value(for: key(2)) == nil)
        #expect([1, 3, 4].allSatisfy { cache.contains(key($0)) })
    }

    @Test func `counts the cost of values`() {
        let cache = MemoryCache<String>(costLimit: 100)
        cache.store("a", for: key(1), cost: 60)
        cache.store("b", for: key(2), cost: 40)
        #expect(cache.totalCost == 100)
        #expect(cache.count == 2)
        cache.store("c", for: key(1), cost: 30)
        #expect(cache.totalCost == 70)
        #expect(cache.value(for: key(1)) == "c")
        cache.store("d", for: key(3), cost: 50)
        #expect(cache.value(for: key(2)) == nil)
        #expect(cache.totalCost == 80)
        cache.store("e", for: key(3), cost: 101)
        #expect(cache.value(for: key(3)) == nil, "the new value is too large, the old one is removed")
        #expect(MemoryCache<Int>.cost(bytesPerRow: 400, height: 100, frames: 3) == 120_000)
    }

    @Test func `counts costs of any size`() {
        let cache = MemoryCache<Int>()
        cache.store(1, for: key(1), cost: .max)
        cache.store(2, for: key(2), cost: .max)
        cache.store(3, for: key(3), cost: -5)
        #expect(cache.count == 3)
        #expect(cache.totalCost == .max)
        cache.remove(key(1))
        #expect(cache.totalCost == .max)
        cache.remove(key(2))
        #expect(cache.totalCost == 0, "a negative cost counts as 0")
        #expect(MemoryCache<Int>.cost(bytesPerRow: .max, height: 2, frames: 2) == .max)
    }

    @Test func `applies new limits at once`() {
        let cache = MemoryCache<Int>()
        for number in 0..<10 { cache.store(number, for: key(number), cost: 10) }
        cache.countLimit = 5
        #expect(cache.count == 5)
        #expect(cache.contains(key(9)))
        #expect(!cache.contains(key(4)))
        cache.costLimit = 20
        #expect(cache.count == 2)
        #expect(cache.remove(key(9)))
        #expect(!cache.remove(key(9)))
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
    }

    @Test func `agrees with a plain list`() {
        var dice = SplitMix64(seed: 7)
        let cache = MemoryCache<Int>(costLimit: 50, countLimit: 8)
        var model: [(key: Int, value: Int, cost: Int)] = []
        for step in 0..<20_000 {
            let number = Int.random(in: 0..<16, using: &dice)
            switch Int.random(in: 0..<10, using: &dice) {
            case 0:
                #expect(cache.remove(key(number)) == model.contains { $0.key == number })
                model.removeAll { $0.key == number }
            case 1...5:
                let found = model.firstIndex { $0.key == number }
                #expect(cache.value(for: key(number)) == found.map { model[$0].value })
                if let found { model.append(model.remove(at: found)) }
            default:
                let cost = Int.random(in: 0...20, using: &dice)
                cache.store(step, for: key(number), cost: cost)
                model.removeAll { $0.key == number }
                model.append((number, step, cost))
                while model.count > 8 || model.reduce(0, { $0 + $1.cost }) > 50 { model.removeFirst() }
            }
            #expect(cache.count == model.count)
            #expect(cache.totalCost == model.reduce(0) { $0 + $1.cost })
        }
    }
}
