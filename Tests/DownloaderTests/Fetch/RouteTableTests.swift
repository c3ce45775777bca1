import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct RouteTableTests {
    /// By 192.0.2.9 to everything, by 10.0.0.1 to 10.0.0.0/8, directly to 192.0.2.0/24.
    private let routes = """
        Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
        eth0\t00000000\t090200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
        eth1\t00000000\t080200C0\t0003\t0\t0\t200\t00000000\t0\t0\t0
        eth0\t0000000A\t0100000A\t0003\t0\t0\t0\t000000FF\t0\t0\t0
        eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
        """

    private func table(_ neighbours: (String, String)...) -> RouteTable {
        let lines = neighbours.map { "\($0)  0x1  \($1)  00:00:00:00:00:00  *  eth0" }
        return RouteTable(
            routes: routes,
            neighbours: (["IP address HW type Flags HW address Mask Device"] + lines).joined(separator: "\n"))
    }

    private func dead(_ table: RouteTable, _ address: String) throws -> String? {
        table.deadGateway(to: try #require(IPAddress(address)))?.description
    }

    @Test func `a gateway without a hardware address is dead for the destinations that it serves`() throws {
        let table = table(("192.0.2.9", "0x0"), ("10.0.0.1", "0x2"), ("192.0.2.8", "0x2"))
        #expect(try dead(table, "8.8.8.8") == "192.0.2.9", "the smaller metric")
        #expect(try dead(table, "10.1.1.1") == nil, "the longer mask")
        #expect(try dead(table, "192.0.2.9") == nil, "no gateway")
        #expect(try dead(table, "2001:db8::1") == nil)
    }

    @Test func `a gateway that has answered, also on another interface, or was not asked may be alive`() throws {
        #expect(try dead(table(("192.0.2.9", "0x2")), "8.8.8.8") == nil)
        #expect(try dead(table(("192.0.2.9", "0x0"), ("192.0.2.9", "0x2")), "8.8.8.8") == nil)
        #expect(try dead(table(), "8.8.8.8") == nil)
        #expect(try dead(RouteTable(routes: "", neighbours: ""), "8.8.8.8") == nil)
    }
}
