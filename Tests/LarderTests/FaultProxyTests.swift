import Foundation
import Glibc
import TestSupport
import Testing

@testable import Lab

/// The proxy before the origin and the database of `larder-lab chaos`.
@Suite(.timeLimit(.minutes(1)))
struct FaultProxyTests {
    /// A connection that reads what arrives until the other side ends it.
    private final class Client {
        private let descriptor: Int32

        init(_ place: SocketPlace) throws { descriptor = try #require(place.connect()) }
        deinit { close(descriptor) }

        func request(_ number: Int) {
            let text = Array("GET /\(number).png HTTP/1.1\r\n\r\n".utf8)
            _ = send(descriptor, text, text.count, Int32(MSG_NOSIGNAL))
        }

        /// At most `count` bytes; fewer at the end of the connection, nil when none arrive within `milliseconds`.
        func read(_ count: Int, within milliseconds: Int32 = 20_000) -> [UInt8]? {
            var bytes: [UInt8] = []
            while bytes.count < count {
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, milliseconds) > 0 else { return nil }
                var room = [UInt8](repeating: 0, count: count - bytes.count)
                let got = recv(descriptor, &room, room.count, 0)
                guard got > 0 else { return bytes }
                bytes += room.prefix(got)
            }
            return bytes
        }
    }

    private let origin: ChaosOrigin
    private let proxy: FaultProxy
    private let length = ChaosImage.bytes(1).count

    init() throws {
        origin = try ChaosOrigin()
        proxy = try FaultProxy(listening: .port(host: "127.0.0.1", number: 0), to: origin.place)
    }

    @Test func `it forwards`() throws {
        let client = try Client(proxy.place)
        let head = Array("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: \(length)\r\n\r\n".utf8)
        for number in [1, 2] {
            client.request(number)
            #expect(client.read(head.count + length) == head + ChaosImage.bytes(number))
        }
    }

    @Test func `a drop ends open connections and new ones`() throws {
        let client = try Client(proxy.place)
        client.request(1)
        #expect(client.read(10)?.count == 10)
        proxy.set(.dropping)
        #expect(try #require(client.read(1_000_000)).count < 1_000_000, "the connection ends")
        #expect(try Client(proxy.place).read(1) == [])
        proxy.set(.forwarding)
    }

    @Test func `a half-open connection answers nothing and ends with the fault`() throws {
        proxy.set(.halfOpen)
        let client = try Client(proxy.place)
        client.request(1)
        #expect(client.read(1, within: 300) == nil)
        proxy.set(.forwarding)
        #expect(client.read(1) == [])
        let next = try Client(proxy.place)
        next.request(1)
        #expect(next.read(4) == Array("HTTP".utf8))
    }

    @Test func `a delayed answer arrives`() throws {
        proxy.set(.delaying(.milliseconds(30)))
        let client = try Client(proxy.place)
        client.request(1)
        #expect(client.read(length)?.count == length)
    }
}
