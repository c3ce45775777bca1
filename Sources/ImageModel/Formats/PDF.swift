extension ImageFormat {
    /// PDF, its first page; on request.
    public static let pdf = ImageFormat(
        "pdf", mediaType: "application/pdf", sdImageFormat: .pdf, .onRequest, hasSignature: { $0.has("%PDF-", at: 0) })
}
