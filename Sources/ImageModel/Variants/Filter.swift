/// A Core Image filter and its parameters.
package struct Filter: Sendable, Hashable {
    package struct Parameter: Sendable, Hashable {
        /// The Core Image name, such as `inputEV`.
        package let name: String
        /// Used if the variant has no value.
        package let defaultValue: Double
        package let range: ClosedRange<Double>
    }

    /// The Core Image name, such as `CIColorInvert`.
    package let name: String
    /// Given parameters by name; the others have their defaults.
    package let parameters: [String: Double]

    /// Checks the name and the parameters.
    ///
    /// - Throws: `VariantError` for an unknown name or parameter and a value out of range, with the path within the
    ///   filter's JSON.
    package init(name: String, parameters: [String: Double] = [:]) throws(VariantError) {
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

    /// Every filter and its parameters. Names, defaults and ranges are Core Image's if it has them.
    package static let all: [String: [Parameter]] = [
        "CIColorInvert": [],
        "CISepiaTone": [Parameter(name: "inputIntensity", defaultValue: 1, range: 0...1)],
        "CIColorMonochrome": [Parameter(name: "inputIntensity", defaultValue: 1, range: 0...1)],
        "CIPhotoEffectMono": [],
        "CIPhotoEffectNoir": [],
        "CIExposureAdjust": [Parameter(name: "inputEV", defaultValue: 0, range: -10...10)],
        "CIColorControls": [
            Parameter(name: "inputSaturation", defaultValue: 1, range: 0...2),
            Parameter(name: "inputBrightness", defaultValue: 0, range: -1...1),
            Parameter(name: "inputContrast", defaultValue: 1, range: 0.25...4),
        ],
        "CIGammaAdjust": [Parameter(name: "inputPower", defaultValue: 0.75, range: 0.1...3)],
        "CIVibrance": [Parameter(name: "inputAmount", defaultValue: 0, range: -1...1)],
        "CISharpenLuminance": [
            Parameter(name: "inputSharpness", defaultValue: 0.4, range: 0...2),
            Parameter(name: "inputRadius", defaultValue: 1.69, range: 0...20),
        ],
        "CIUnsharpMask": [
            Parameter(name: "inputIntensity", defaultValue: 0.5, range: 0...1),
            Parameter(name: "inputRadius", defaultValue: 2.5, range: 0...100),
        ],
        "CIPixellate": [Parameter(name: "inputScale", defaultValue: 8, range: 1...1000)],
        "CIVignette": [
            Parameter(name: "inputIntensity", defaultValue: 0, range: -1...1),
            Parameter(name: "inputRadius", defaultValue: 1, range: 0.01...2),
        ],
    ]

    /// Whether the pixels equal Core Image's, so that they may have SDWebImage's key.
    var isExact: Bool { name == "CIColorInvert" }

    /// The name and the given parameters, sorted by name.
    package var text: String {
        parameters.sorted { $0.key < $1.key }.reduce(name) { $0 + ",\($1.key)=\($1.value.keyText)" }
    }

    /// A parameter's given or default value; 0 if the filter does not have it.
    package subscript(_ parameter: String) -> Double {
        parameters[parameter] ?? Self.all[name]?.first { $0.name == parameter }?.defaultValue ?? 0
    }
}
