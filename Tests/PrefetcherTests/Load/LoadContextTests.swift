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
        #expect(refusal(#"{"imageTransfomer":[]}"#) == "$.imageTransfomer: is not a known field")
    }

    @Test func `thumbnail, transformers and encoding describe an additional variant`() throws {
        let context = try LoadContext(
            json: #"""
                {"imageThumbnailPixelSize":{"width":30,"height":20},"imagePreserveAspectRatio":false,
                 "imageTransformer":[{"type":"resize","width":10,"height":5}],
                 "imageEncodeOptions":{"encodeCompressionQuality":0.75,"encodeMaxFileSize":9000,
                                       "encodeBackgroundColor":"#ff00ff00"}}
                """#.utf8)
        let variant = try #require(context.result)
        #expect(variant.name == "result")
        #expect(
            variant.keySuffixes == [
                "Thumbnail({30.000000,20.000000},0)", "SDImageResizingTransformer({10.000000,5.000000},0)",
            ])
        #expect(variant.quality == 75 && variant.maxBytes == 9000 && variant.background != nil)
    }

    @Test func `encoding options alone describe no variant`() throws {
        #expect(try LoadContext(json: #"{"imageEncodeOptions":{"encodeCompressionQuality":1}}"#.utf8).result == nil)
    }

    @Test func `a null transformer describes no variant`() throws {
        #expect(try LoadContext(json: #"{"imageTransformer":null}"#.utf8).result == nil)
    }

    @Test func `single keys override the same entries of imageDecodeOptions; other entries are ignored`() throws {
        let context = try LoadContext(
            json: #"""
                {"imageDecodeOptions":{"decodeScaleFactor":3,"decodeThumbnailPixelSize":{"width":9,"height":9},
                                       "decodeScaleDownLimitBytes":1000,"customOption":true},
                 "imageScaleFactor":2,"imageThumbnailPixelSize":{"width":8,"height":8}}
                """#.utf8)
        #expect(context.scale == 2 && context.scaleDownLimit == 1000)
        #expect(context.result?.thumbnail?.width == 8)
    }

    @Test func `cache types have SDWebImage's numbers`() throws {
        let context = try LoadContext(
            json: #"{"queryCacheType":0,"storeCacheType":2,"originalQueryCacheType":3,"originalStoreCacheType":1}"#.utf8
        )
        #expect(context.query == .none && context.store == .memory)
        #expect(context.originalQuery == .all && context.originalStore == .disk)
        let standard = LoadContext()
        #expect(standard.query == .all && standard.store == .all)
        #expect(standard.originalQuery == .disk && standard.originalStore == .disk)
    }

    @Test func `a part is named, described, or none`() throws {
        let context = try LoadContext(
            json: #"""
                {"cacheKeyFilter":"withoutQuery","cacheSerializer":null,"downloadDecryptor":"base64",
                 "downloadRequestModifier":{"headers":{"X-A":"1"}},"downloadResponseModifier":{"status":200},
                 "imageLoader":"files","imageCache":"a","originalImageCache":"b","credentials":"shop"}
                """#.utf8)
        #expect(context.keyFilter == .named("withoutQuery") && context.serializer == .none)
        #expect(context.requestModifier == .described(RequestChange(headers: ["X-A": "1"])))
        #expect(context.responseModifier == .described(ResponseChange(status: 200)))
        #expect(context.credentials == "shop" && context.source == .named("files"))
    }

    @Test(arguments: [
        (
            #"{"imageThumbnailPixelSize":{"width":0,"height":5}}"#,
            "$.imageThumbnailPixelSize.width: must be greater than 0"
        ),
        (#"{"imageTransformer":[{"type":"twist"}]}"#, "$.imageTransformer[0].type: is not a known transformer"),
        (#"{"imageScaleFactor":0.5}"#, "$.imageScaleFactor: must be at least 1"),
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
        #expect(known.count == 26 && LoadOptions.names.count == 26)
        for (name, option) in known {
            #expect(LoadOptions(named: name)?.rawValue == option.value, "\(name)")
            #expect(option.value == 1 << UInt64(option.bit))
        }
        #expect(LoadOptions(named: "retryFailed") == nil && LoadOptions(named: "") == nil)
    }

    @Test func `high priority overrides low priority`() {
        #expect(LoadOptions([.highPriority, .lowPriority]).priority == .high)
        #expect(LoadOptions.lowPriority.priority == .low && LoadOptions().priority == .normal)
        #expect([LoadOptions.highPriority, [], .lowPriority].map(\.jobPriority) == [1, nil, 7])
    }
}
