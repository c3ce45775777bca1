import Testing

@testable import Downloader

struct AddressPolicyTests {
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
        "161.26.0.10", "166.11.255.255", "168.63.129.16",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1",
        "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::8.8.8.8",
        "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "100::1", "2001::1",
        "2001:0:53aa:64c:0:fbff:80ff:fffe", "2001:2::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:c0a8:101::1", "2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:127.0.0.1", "3fff::1", "5f00::1",
        "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1", "4000::1", "::ffff:0:127.0.0.1",
    ])
    func `special addresses are refused`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!AddressPolicy().allows(address))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
        "2001:200::1", "2002:808:808::1", "2606:4700::1111", "2a00:1450::5efe:8.8.8.8", "3ffe::1",
    ])
    func `public addresses are allowed, those next to refused ranges included`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(AddressPolicy().refusal(of: address) == nil)
    }

    @Test func `an allowed range admits its addresses, mapped or not, and no others`() throws {
        let policy = AddressPolicy(allowedAddresses: try [#require(CIDR("127.0.0.0/8")), #require(CIDR("fd00::/8"))])
        for open in ["127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "fd00::1"] {
            #expect(policy.allows(try #require(IPAddress(open))), "\(open)")
        }
        for closed in ["10.0.0.1", "::1", "64:ff9b::127.0.0.1", "2002:7f00:1::", "fc00::1", "::ffff:10.0.0.1"] {
            #expect(!policy.allows(try #require(IPAddress(closed))), "\(closed)")
        }
    }

    @Test func `four ports and the configured ones are allowed`() {
        let policy = AddressPolicy(allowedPorts: [8000])
        #expect([80, 443, 8080, 8443, 8000].allSatisfy { policy.allows(port: $0) })
        #expect(![22, 25, 81, 5432, 8001, 0].contains { policy.allows(port: $0) })
    }

    @Test func `ranges are read in CIDR notation`() throws {
        #expect(CIDR("10.1.2.3/8")?.description == "10.0.0.0/8")
        #expect(CIDR("127.0.0.1")?.description == "127.0.0.1/32")
        #expect(CIDR("::1")?.description == "::1/128")
        #expect(CIDR("0.0.0.0/0")?.contains(try #require(IPAddress("9.9.9.9"))) == true)
        #expect(CIDR("::/0")?.contains(try #require(IPAddress("9.9.9.9"))) == false)
        for text in [
            "", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8", "10/8", "x", "1.2.3.4/8/9",
        ] {
            #expect(CIDR(text) == nil, "\(text)")
        }
    }
}
