import Downloader
import ImageModel
import Testing
import Transcoder

@testable import Prefetcher

struct LoadContextTests {
    private func refusal(_ json: String) -> String? {
        do throws(VariantError) {
            _ = try LoadContext(json: json.utf8)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `every context key of SDWebImage is accepted in its spelling`() throws {
        let loaderInternal = "loaderCachedImage"
        for key in try ManagerVectors.read().enums.contextKeys where !key.hasPrefix(loaderInternal) {
            #expect(refusal(#"{"\#(key)":null}"#)?.contains("is not a known field") != true, "\(key)")
        }
        #expect(refusal(#"{"loaderCachedImage":null}"#) == "$.loaderCachedImage: is set by the manager alone")
        #expect(
            refusal(#"{"imageTransfomer":[]}"#)
                == #"$.imageTransfomer: is not a known field; did you mean "imageTransformer"?"#)
    }

    @Test func `thumbnail, transformers and encoding describe an additional variant`() throws {
        let context = try LoadContext(
            json: #"""
                {"imageThumbnailPixelSize":{"width":30,"height":20},"imagePreserveAspectRatio":false,
                 "imageTransformer":[{"type":"resize","width":10,"height":5}],
                 "imageEncodeOptions":{"encodeCompressionQuality":0.75,"encodeBackgroundColor":"#ff00ff00"}}
                """#.utf8)
        let variant = try #require(context.result)
        #expect(variant.name == "result")
        #expect(
            variant.keySuffixes == [
                "Thumbnail({30.000000,20.000000},0)", "SDImageResizingTransformer({10.000000,5.000000},0)",
            ])
        #expect(variant.quality == 75)
        #expect(variant.maxBytes == nil)
        #expect(variant.background != nil)
    }

    // SDImageIOAnimatedCoder.m of SDWebImage 5.21.5, encodedDataWithFrames: the limit removes the quality, 0 is none.
    @Test(arguments: [(9000, nil, 9000), (0, 75, nil)] as [(Int, Int?, Int?)])
    func `encodeMaxFileSize replaces encodeCompressionQuality`(limit: Int, quality: Int?, maxBytes: Int?) throws {
        let options = #""encodeCompressionQuality":0.75,"encodeMaxFileSize":\#(limit)"#
        let context = try LoadContext(
            json: #"{"imageThumbnailPixelSize":{"width":9,"height":9},"imageEncodeOptions":{\#(options)}}"#.utf8)
        let variant = try #require(context.result)
        #expect(variant.quality == quality)
        #expect(variant.maxBytes == maxBytes)
        #expect(!context.encodesFirstFrame)
    }

    @Test func `encoding options alone describe no variant`() throws {
        #expect(try LoadContext(json: #"{"imageEncodeOptions":{"encodeCompressionQuality":1}}"#.utf8).result == nil)
    }

    @Test func `a null transformer describes no variant`() throws {
        #expect(try LoadContext(json: #"{"imageTransformer":null}"#.utf8).result == nil)
    }

    // SDImageCacheDefine.m 59–67 of SDWebImage 5.21.5: the context's keys and the options replace these entries, also
    // when they are absent; SDWebImageManager.m 154–168 makes the key of the context's thumbnail size alone.
    @Test(arguments: [
        #""decodeScaleFactor":3"#, #""decodeThumbnailPixelSize":{"width":9,"height":9}"#,
        #""decodePreserveAspectRatio":false"#, #""decodeScaleDownLimitBytes":1000"#, #""decodeFirstFrameOnly":true"#,
        #""decodeTypeIdentifierHint":"public.png","decodeFileExtensionHint":"png""#, #""customOption":true"#,
        #""decodeScaleFactor":"text""#,
    ])
    func `the entries of imageDecodeOptions have no effect`(entry: String) throws {
        let single = #""imageScaleFactor":2,"imageThumbnailPixelSize":{"width":8,"height":8}"#
        #expect(try LoadContext(json: #"{"imageDecodeOptions":{\#(entry)}}"#.utf8) == LoadContext())
        #expect(
            try LoadContext(json: #"{"imageDecodeOptions":{\#(entry)},\#(single)}"#.utf8)
                == LoadContext(json: "{\(single)}".utf8))
    }

    // SDImageCacheDefine.m 21–22 of SDWebImage 5.21.5.
    @Test func `an imageScaleFactor below 1 leaves the scale of the key`() throws {
        #expect(try LoadContext(json: #"{"imageScaleFactor":0.5}"#.utf8) == LoadContext())
        #expect(try LoadContext(json: #"{"imageScaleFactor":0}"#.utf8).scale == nil)
        #expect(try LoadContext(json: #"{"imageScaleFactor":1}"#.utf8).scale == 1)
    }

    // SDImageIOAnimatedCoder.m 907–945 of SDWebImage 5.21.5; a side of 0 is no limit (934).
    @Test func `encodeMaxPixelSize is the result's box, and none with a side of 0`() throws {
        func box(_ text: String) throws -> Variant.Thumbnail? {
            let result = try LoadContext(
                json: #"{"imageTransformer":[{"type":"blur","radius":1}],"imageEncodeOptions":{\#(text)}}"#.utf8
            ).result
            return try #require(result).maxPixelSize
        }
        #expect(try box(#""encodeMaxPixelSize":{"width":30,"height":20}"#) == .init(width: 30, height: 20))
        #expect(try box(#""encodeMaxPixelSize":{"width":0,"height":20}"#) == nil)
        #expect(try box("") == nil)
    }

    @Test func `cache types have SDWebImage's numbers`() throws {
        let context = try LoadContext(
            json: #"{"queryCacheType":0,"storeCacheType":2,"originalQueryCacheType":3,"originalStoreCacheType":1}"#.utf8
        )
        #expect(context.query == .none)
        #expect(context.store == .memory)
        #expect(context.originalQuery == .all)
        #expect(context.originalStore == .disk)
        let standard = LoadContext()
        #expect(standard.query == .all)
        #expect(standard.store == .all)
        #expect(standard.originalQuery == .disk)
        #expect(standard.originalStore == .disk)
    }

    @Test func `a part is named, described, or none`() throws {
        let context = try LoadContext(
            json: #"""
                {"cacheKeyFilter":"withoutQuery","cacheSerializer":null,"downloadDecryptor":"base64",
                 "downloadRequestModifier":{"headers":{"X-A":"1"}},"downloadResponseModifier":{"status":200},
                 "imageLoader":"files","imageCache":"a","originalImageCache":"b","credentials":"shop",
                 "imageCoder":"mp4"}
                """#.utf8)
        #expect(context.keyFilter == .named("withoutQuery"))
        #expect(context.serializer == .none)
        #expect(context.requestModifier == .described(RequestChange(headers: ["X-A": "1"])))
        #expect(context.responseModifier == .described(ResponseChange(status: 200)))
        #expect(context.credentials == "shop")
        #expect(context.coder == "mp4")
        #expect(context.source == .named("files"))
    }

    @Test(arguments: [
        (
            #"{"imageThumbnailPixelSize":{"width":0,"height":5}}"#,
            "$.imageThumbnailPixelSize.width: must be greater than 0"
        ),
        (#"{"imageTransformer":[{"type":"twist"}]}"#, "$.imageTransformer[0].type: is not a known transformer"),
        (
            #"{"imageThumbnailPixelSize":{"width":5,"height":5},"imageEncodeOptions":{"encodeMaxPixelSize":{"width":-1,"height":5}}}"#,
            "$.imageEncodeOptions.encodeMaxPixelSize.width: must be greater than 0"
        ),
        (#"{"animatedImageClass":1}"#, "$.animatedImageClass: must be the name of a class, or null for none"),
        (#"{"imageDecodeOptions":1}"#, "$.imageDecodeOptions: must be an object"),
        (#"{"imageScaleFactor":"2"}"#, "$.imageScaleFactor: must be a number"),
        (
            #"{"imageScaleDownLimitBytes":-1}"#,
            "$.imageScaleDownLimitBytes: must be a whole number from 0 to \(Int.max)"
        ),
        (#"{"queryCacheType":4}"#, "$.queryCacheType: must be a whole number from 0 to 3"),
        (#"{"customManager":"x"}"#, "$.customManager: is not supported: a worker has one manager"),
        (#"{"cacheKeyFilter":7}"#, "$.cacheKeyFilter: must be the name of one, or null for none"),
        (
            #"{"downloadRequestModifier":{"headers":{"Authorization":"Basic eA=="}}}"#,
            "$.downloadRequestModifier.headers.Authorization: is a secret: name a credential profile instead"
        ),
        (
            #"{"downloadRequestModifier":{"headers":{"X":"a\r\nb: c"}}}"#,
            "$.downloadRequestModifier.headers.X: must be a string without control characters"
        ),
        (#"[]"#, "$: must be an object"), (#"{"#, "$: is not valid JSON"),
    ])
    func `an error names the JSON path`(json: String, message: String) { #expect(refusal(json) == message) }
}

struct LoadOptionsTests {
    @Test func `all 26 options have SDWebImage's names and values`() throws {
        let known = try ManagerVectors.read().enums.options
        #expect(known.count == 26)
        #expect(LoadOptions.names.count == 26)
        for (name, option) in known {
            #expect(LoadOptions(named: name)?.rawValue == option.value, "\(name)")
            #expect(option.value == 1 << UInt64(option.bit))
        }
        #expect(LoadOptions(named: "retryFailed") == nil)
        #expect(LoadOptions(named: "") == nil)
    }

    @Test func `high priority overrides low priority`() {
        #expect(LoadOptions([.highPriority, .lowPriority]).priority == .high)
        #expect(LoadOptions.lowPriority.priority == .low)
        #expect(LoadOptions().priority == .normal)
        #expect([LoadOptions.highPriority, [], .lowPriority].map(\.jobPriority) == [1, nil, 7])
    }
}
