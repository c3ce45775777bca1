import Testing

@testable import Codecs
@testable import ImageModel

@Suite(.timeLimit(.minutes(5)))
struct FilterTests {
    private func filtered(_ pixels: [UInt8], width: Int = 1, _ name: String, _ parameters: [String: Double] = [:])
        throws
        -> [Int]
    {
        let filter = try Filter(name: name, parameters: parameters)
        var bytes = pixels
        bytes.withUnsafeMutableBufferPointer {
            Raster($0, width: width, height: pixels.count / 4 / width).filter(filter)
        }
        return bytes.map(Int.init)
    }

    @Test func `CIColorInvert inverts in linear light and keeps alpha`() throws {
        // SDWebImage's result: (0.849, 0.992, 0.994).
        #expect(isClose(try filtered([151, 36, 31, 255], "CIColorInvert"), [216, 253, 253, 255], within: 1))
        #expect(try filtered([0, 0, 0, 255], "CIColorInvert") == [255, 255, 255, 255])
        #expect(try filtered([255, 255, 255, 77], "CIColorInvert") == [0, 0, 0, 77])
        #expect(try filtered([0, 0, 0, 0], "CIColorInvert") == [0, 0, 0, 0])
    }

    @Test(arguments: Filter.all.keys.sorted())
    func `every filter draws, keeps the alpha of each pixel, and leaves transparent pixels unchanged`(
        name: String
    ) throws {
        var pixels: [UInt8] = []
        for index in 0..<64 { pixels += [UInt8(index * 4), UInt8(255 - index * 3), 90, UInt8(255 - index)] }
        let result = try filtered(pixels, width: 8, name)
        #expect(result.count == pixels.count)
        if name != "CIPixellate" {
            for index in stride(from: 3, to: 256, by: 4) { #expect(result[index] == Int(pixels[index])) }
        }
        #expect(try filtered([0, 0, 0, 0], name) == [0, 0, 0, 0])
    }

    @Test(arguments: ["CIExposureAdjust", "CIColorControls", "CIVibrance", "CIVignette"])
    func `filters with neutral defaults change nothing`(name: String) throws {
        for value in [UInt8(0), 1, 17, 128, 254, 255] {
            let result = try filtered([value, 40, 200, 255], name)
            #expect(result == [Int(value), 40, 200, 255])
        }
    }

    @Test func `parameters have their documented effect`() throws {
        // 0.5 in linear light becomes 1.
        #expect(try filtered([188, 188, 188, 255], "CIExposureAdjust", ["inputEV": 1])[0] >= 254)
        let grey = try filtered([200, 100, 50, 255], "CIColorControls", ["inputSaturation": 0])
        #expect(grey[0] == grey[1])
        #expect(grey[1] == grey[2])
        #expect(try filtered([200, 100, 50, 255], "CIPhotoEffectMono") == grey)
        let brown = try filtered([255, 255, 255, 255], "CIColorMonochrome")
        #expect(isClose(brown, [153, 115, 77, 255], within: 1))
        #expect(
            try filtered([255, 255, 255, 255], "CIColorMonochrome", ["inputIntensity": 0]) == [255, 255, 255, 255])
        #expect(try filtered([100, 100, 100, 255], "CIGammaAdjust", ["inputPower": 1]) == [100, 100, 100, 255])
        let noir = try filtered([30, 30, 30, 255, 230, 230, 230, 255], width: 2, "CIPhotoEffectNoir")
        #expect(noir[0] < 30)
        #expect(noir[4] > 230)
        let vivid = try filtered([140, 120, 120, 255], "CIVibrance", ["inputAmount": 1])
        #expect(vivid[0] - vivid[1] > 20)
    }

    @Test func `CIPixellate fills squares with their mean in linear light`() throws {
        let pixels: [UInt8] = [0, 0, 0, 255, 255, 255, 255, 255, 9, 9, 9, 255]
        let result = try filtered(pixels, width: 3, "CIPixellate", ["inputScale": 2])
        let expected = [188, 188, 188, 255, 188, 188, 188, 255, 9, 9, 9, 255]
        #expect(result == expected)
    }

    @Test(arguments: ["CISharpenLuminance", "CIUnsharpMask"])
    func `sharpening steepens an edge and keeps plain areas`(name: String) throws {
        var pixels: [UInt8] = []
        for index in 0..<20 { pixels += index < 10 ? [100, 100, 100, 255] : [150, 150, 150, 255] }
        let result = try filtered(pixels, width: 20, name)
        #expect(result[9 * 4] < 100)
        #expect(result[10 * 4] > 150)
        #expect(result[0] == 100)
        #expect(result[19 * 4] == 150)
    }

    @Test(arguments: ["CISharpenLuminance", "CIUnsharpMask"])
    func `sharpening ignores transparent pixels`(name: String) throws {
        // Five transparent pixels, opaque ones of two colours, one half transparent, transparent ones.
        func pixels(_ outside: [UInt8], edge: UInt8) -> [UInt8] {
            (0..<30).flatMap { (x: Int) -> [UInt8] in
                if x < 5 || x > 25 { return outside }
                let value: UInt8 = x < 15 ? 100 : 150
                return [value, value, value, x == 25 ? edge : 255]
            }
        }
        let cut = try filtered(pixels([0, 0, 0, 0], edge: 128), width: 30, name)
        for x in 5...8 { #expect(cut[x * 4] == 100, "\(x)") }
        for x in 21...25 { #expect(cut[x * 4] == 150, "\(x)") }
        #expect(cut[14 * 4] < 100)
        #expect(cut[15 * 4] > 150)
        #expect(cut[4 * 4..<5 * 4] == [0, 0, 0, 0])
        #expect(cut[25 * 4 + 3] == 128)
        // Opaque black is an edge.
        #expect(try filtered(pixels([0, 0, 0, 255], edge: 255), width: 30, name)[5 * 4] > 100)
    }

    @Test func `CIVignette darkens the corners and not the centre`() throws {
        let pixels = [UInt8](repeating: 200, count: 9 * 9 * 4)
        let result = try filtered(pixels, width: 9, "CIVignette", ["inputIntensity": 1])
        #expect(result[0] < 100)
        #expect(result[(4 * 9 + 4) * 4] == 200)
    }

    @Test(arguments: [
        ("CINothing", [:], "name"), ("CIColorInvert", ["inputEV": 1.0], "parameters.inputEV"),
        ("CIExposureAdjust", ["inputEV": 11], "parameters.inputEV"),
        ("CIPixellate", ["inputScale": .nan], "parameters.inputScale"),
    ])
    func `an unknown filter or parameter is refused with its path`(
        name: String, parameters: [String: Double], path: String
    ) {
        do throws(VariantError) {
            _ = try Filter(name: name, parameters: parameters)
            Issue.record("accepted")
        } catch {
            #expect(error.path == path)
        }
    }

    @Test func `only a filter with Core Image's pixels has SDWebImage's key`() throws {
        for name in Filter.all.keys {
            let variant = try Variant(json: #"{"name":"v","transform":[{"type":"filter","name":"\#(name)"}]}"#.utf8)
            let prefix = name == "CIColorInvert" ? "SDImage" : "Larder"
            #expect(variant.keySuffixes == ["\(prefix)FilterTransformer(\(name))"])
        }
    }

    @Test func `parameters are part of JSON and key`() throws {
        let plain = try Variant(json: #"{"name":"v","transform":[{"type":"filter","name":"CIExposureAdjust"}]}"#.utf8)
        #expect(plain.keySuffixes == ["LarderFilterTransformer(CIExposureAdjust)"])
        let text =
            #"{"name":"v","transform":[{"name":"CIUnsharpMask","parameters":{"inputIntensity":1,"inputRadius":3},"type":"filter"}]}"#
        let variant = try Variant(json: text.utf8)
        #expect(
            variant.keySuffixes
                == ["LarderFilterTransformer(CIUnsharpMask,inputIntensity=1.000000,inputRadius=3.000000)"])
        #expect(variant.canonicalJSON == text)
    }
}
