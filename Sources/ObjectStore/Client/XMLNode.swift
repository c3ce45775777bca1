/// An element of a parsed XML document.
package struct XMLNode: Sendable {
    private static let maximumDepth = 32

    /// The name without a namespace prefix.
    package let name: String
    /// The element's own characters.
    package private(set) var text = ""
    /// In document order.
    package private(set) var children: [XMLNode] = []

    /// Parses a document; nil if malformed or nested deeper than 32 elements.
    package init?(_ document: [UInt8]) {
        var open: [XMLNode] = []
        var root: XMLNode?
        let parser = XMLEvents { event in
            switch event {
            case .start(let name, _):
                guard open.count < Self.maximumDepth else { return false }
                open.append(XMLNode(name: String(name.split(separator: ":").last ?? "")))
            case .text(let text):
                if !open.isEmpty { open[open.count - 1].text += text }
            case .skipped: return false
            case .end:
                guard let node = open.popLast() else { return false }
                if open.isEmpty { root = node } else { open[open.count - 1].children.append(node) }
            }
            return true
        }
        guard let events = parser, (try? events.parse(document, isLast: true)) == true, let result = root else {
            return nil
        }
        self = result
    }

    private init(name: String) { self.name = name }

    package subscript(_ name: String) -> XMLNode? { children.first { $0.name == name } }

    package func all(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }
}
