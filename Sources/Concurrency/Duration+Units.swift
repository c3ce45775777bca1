extension Duration {
    /// Whole milliseconds, towards zero, within Int64.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let product = seconds.multipliedReportingOverflow(by: 1_000)
        guard !product.overflow else { return seconds < 0 ? .min : .max }
        return product.partialValue + attoseconds / 1_000_000_000_000_000
    }

    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
