private import CExpat

/// An element of a parsed XML document. The corresponding C library is expat, which bounds the expansion of entities.
package struct XMLNode: Sendable {
    private static let maximumDepth = 32

    /// The name without a namespace prefix.
    package let name: String
    /// The characters of the element itself.
    package private(set) var text = ""
    /// In document order.
    package private(set) var children: [XMLNode] = []

    /// Parses a document; nil when it is malformed or nested deeper than 32 elements.
    package init?(_ document: [UInt8]) {
        let builder = Builder()
        guard let parser = XML_ParserCreate("UTF-8") else { return nil }
        defer { XML_ParserFree(parser) }
        XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
        XML_SetElementHandler(
            parser, { context, name, _ in XMLNode.builder(context)?.start(name) },
            { context, _ in XMLNode.builder(context)?.end() })
        XML_SetCharacterDataHandler(
            parser, { context, bytes, count in XMLNode.builder(context)?.characters(bytes, Int(count)) })
        let status = document.withUnsafeBytes { bytes in
            XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
        }
        guard status == XML_STATUS_OK, let root = builder.root else { return nil }
        self = root
    }

    private init(name: String) { self.name = name }

    /// The first child of this name.
    package subscript(_ name: String) -> XMLNode? { children.first { $0.name == name } }

    /// The children of this name.
    package func all(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

    private static func builder(_ context: UnsafeMutableRawPointer?) -> Builder? {
        context.map { Unmanaged<Builder>.fromOpaque($0).takeUnretainedValue() }
    }

    private final class Builder {
        private var open: [XMLNode] = []
        private(set) var root: XMLNode?
        private var isTooDeep = false

        func start(_ name: UnsafePointer<CChar>?) {
            let name = name.map { String(cString: $0) } ?? ""
            isTooDeep = isTooDeep || open.count == XMLNode.maximumDepth
            if !isTooDeep { open.append(XMLNode(name: String(name.split(separator: ":").last ?? ""))) }
        }

        func characters(_ bytes: UnsafePointer<CChar>?, _ count: Int) {
            guard !open.isEmpty else { return }
            let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
            open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
        }

        func end() {
            guard !isTooDeep, let node = open.popLast() else { return }
            if open.isEmpty { root = node } else { open[open.count - 1].children.append(node) }
        }
    }
}
