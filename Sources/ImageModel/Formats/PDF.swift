extension ImageFormat {
    /// PDF, its first page; on request.
    public static let pdf = ImageFormat(
        name: "pdf", mediaType: "application/pdf", sdImageFormat: .pdf, acceptance: .onRequest,
        hasSignature: { $0.has("%PDF-", at: 0) }, isVector: true)
}
