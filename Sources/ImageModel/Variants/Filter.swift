/// A filter by its Core Image name, with the parameters given to it.
public struct Filter: Sendable, Hashable {
    /// A number a filter takes.
    public struct Parameter: Sendable, Hashable {
        /// Its Core Image name, `inputEV`.
        public let name: String
        /// Used where none is given.
        public let standard: Double
        /// The values allowed.
        public let range: ClosedRange<Double>
    }

    /// `CIColorInvert` and so on.
    public let name: String
    /// The parameters given, by name; the others have their default.
    public let parameters: [String: Double]

    /// A filter.
    ///
    /// - Throws: `VariantError` for a name or a parameter that is not known, or a value out of range; the path is that
    ///   within the filter's JSON.
    public init(name: String, parameters: [String: Double] = [:]) throws(VariantError) {
        guard let known = Self.all[name] else { throw VariantError(path: "name", message: "is not a known filter") }
        for (key, value) in parameters.sorted(by: { $0.key < $1.key }) {
            guard let parameter = known.first(where: { $0.name == key }) else {
                throw VariantError(path: "parameters.\(key)", message: "is not a parameter of \(name)")
            }
            guard parameter.range.contains(value) else {
                throw VariantError(
                    path: "parameters.\(key)",
                    message: "must be from \(parameter.range.lowerBound) to \(parameter.range.upperBound)")
            }
        }
        self.name = name
        self.parameters = parameters
    }

    /// Every filter and its parameters; names, defaults and, where Core Image has them, ranges are Core Image's.
    public static let all: [String: [Parameter]] = [
        "CIColorInvert": [],
        "CISepiaTone": [Parameter(name: "inputIntensity", standard: 1, range: 0...1)],
        "CIColorMonochrome": [Parameter(name: "inputIntensity", standard: 1, range: 0...1)],
        "CIPhotoEffectMono": [],
        "CIPhotoEffectNoir": [],
        "CIExposureAdjust": [Parameter(name: "inputEV", standard: 0, range: -10...10)],
        "CIColorControls": [
            Parameter(name: "inputSaturation", standard: 1, range: 0...2),
            Parameter(name: "inputBrightness", standard: 0, range: -1...1),
            Parameter(name: "inputContrast", standard: 1, range: 0.25...4),
        ],
        "CIGammaAdjust": [Parameter(name: "inputPower", standard: 0.75, range: 0.1...3)],
        "CIVibrance": [Parameter(name: "inputAmount", standard: 0, range: -1...1)],
        "CISharpenLuminance": [
            Parameter(name: "inputSharpness", standard: 0.4, range: 0...2),
            Parameter(name: "inputRadius", standard: 1.69, range: 0...20),
        ],
        "CIUnsharpMask": [
            Parameter(name: "inputIntensity", standard: 0.5, range: 0...1),
            Parameter(name: "inputRadius", standard: 2.5, range: 0...100),
        ],
        "CIPixellate": [Parameter(name: "inputScale", standard: 8, range: 1...1000)],
        "CIVignette": [
            Parameter(name: "inputIntensity", standard: 0, range: -1...1),
            Parameter(name: "inputRadius", standard: 1, range: 0.01...2),
        ],
    ]

    /// The filter as it stands in keys: its name, then the parameters given, sorted.
    ///
    /// SDWebImage's keys leave parameters out, so that two exposures would share a file; without any the key is its.
    package var text: String {
        parameters.sorted { $0.key < $1.key }.reduce(name) { $0 + ",\($1.key)=\(fixed($1.value))" }
    }

    /// The value of a parameter, given or default; 0 for one the filter does not have.
    package subscript(_ parameter: String) -> Double {
        parameters[parameter] ?? Self.all[name]?.first { $0.name == parameter }?.standard ?? 0
    }
}
