private import CExpat

/// Parses an XML document piece by piece, in its declared encoding. Wraps expat.
///
/// Refuses document types with declarations, so that no entity is expanded or loaded.
package final class XMLEvents {
    /// A part of a document. Names keep their prefix.
    package enum Event {
        case start(name: String, attributes: [String: String])
        case text(String)
        /// An undeclared entity, in text or in an attribute of the next start; nothing replaces it there.
        case skipped(String, isAttribute: Bool)
        case end
    }

    /// Why a document cannot be parsed.
    package struct Fault: Error {
        package let line: Int
        package let message: String
    }

    private static let maximumDepth = 256

    private let parser: OpaquePointer
    private let handle: (Event) -> Bool
    private var depth = 0
    private var refusal: String?
    /// Without a document type an undeclared entity is malformed.
    private var hasDocumentType = false
    /// Expat may still report an element's end after it was stopped.
    private var isStopped = false

    /// - Parameter handle: called for each part; false ends the parse without a fault. Nil if out of memory.
    package init?(_ handle: @escaping (Event) -> Bool) {
        guard let parser = XML_ParserCreate(nil) else { return nil }
        self.parser = parser
        self.handle = handle
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser, { XMLEvents.from($0)?.start($1, $2) }, { context, _ in XMLEvents.from(context)?.end() })
        XML_SetCharacterDataHandler(parser) { XMLEvents.from($0)?.text($1, Int($2)) }
        XML_SetSkippedEntityHandler(parser) { context, name, _ in
            XMLEvents.from(context)?.pass(.skipped(name.map { String(cString: $0) } ?? "", isAttribute: false))
        }
        XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, hasSubset in
            XMLEvents.from(context)?.hasDocumentType = true
            if hasSubset != 0 {
                XMLEvents.from(context)?.refuse("declares entities or elements, which is not accepted")
            }
        }
    }

    deinit { XML_ParserFree(parser) }

    /// The line of the current part, from 1.
    package var line: Int { Int(XML_GetCurrentLineNumber(parser)) }

    /// Parses the next piece (`XML_Parse`).
    ///
    /// - Returns: false if `handle` has ended the parse.
    /// - Throws: `Fault` for a malformed document, and for nesting deeper than 256 elements.
    package func parse(_ piece: [UInt8], isLast: Bool) throws(Fault) -> Bool {
        let status = piece.withUnsafeBytes { bytes in
            XML_Parse(
                parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), isLast ? 1 : 0)
        }
        if status == XML_STATUS_OK { return true }
        let code = XML_GetErrorCode(parser)
        if let refusal { throw Fault(line: line, message: refusal) }
        if code == XML_ERROR_ABORTED { return false }
        throw Fault(line: line, message: XML_ErrorString(code).map { String(cString: $0) } ?? "malformed")
    }

    private func start(
        _ name: UnsafePointer<CChar>?, _ given: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    ) {
        depth += 1
        guard depth <= Self.maximumDepth else { return refuse("is nested deeper than \(Self.maximumDepth) elements") }
        var attributes: [String: String] = [:]
        var next = given
        while let pair = next, let key = pair[0], let value = pair[1] {
            attributes[String(cString: key)] = String(cString: value)
            next = pair + 2
        }
        if hasDocumentType, let entity = undeclaredInTag { pass(.skipped(entity, isAttribute: true)) }
        pass(.start(name: name.map { String(cString: $0) } ?? "", attributes: attributes))
    }

    /// The first undeclared entity in the current tag's attributes, for which expat calls no handler.
    private var undeclaredInTag: String? {
        var offset: Int32 = 0, size: Int32 = 0
        guard let buffer = XML_GetInputContext(parser, &offset, &size) else { return nil }
        let length = max(0, min(XML_GetCurrentByteCount(parser), size - offset))
        let tag = UnsafeRawBufferPointer(start: buffer + Int(offset), count: Int(length)).filter { $0 != 0 }
        return tag.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).dropFirst().lazy
            .map { String(decoding: $0.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) }
            .first { !$0.hasPrefix("#") && !["amp", "lt", "gt", "apos", "quot"].contains($0) }
    }

    private func text(_ bytes: UnsafePointer<CChar>?, _ count: Int) {
        pass(.text(String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)))
    }

    private func end() {
        depth -= 1
        pass(.end)
    }

    private func pass(_ event: Event) {
        if !isStopped, !handle(event) { stop() }
    }

    private func stop() {
        isStopped = true
        XML_StopParser(parser, 0)
    }

    private func refuse(_ reason: String) {
        guard !isStopped else { return }
        refusal = reason
        stop()
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> XMLEvents? {
        context.map { Unmanaged<XMLEvents>.fromOpaque($0).takeUnretainedValue() }
    }
}
