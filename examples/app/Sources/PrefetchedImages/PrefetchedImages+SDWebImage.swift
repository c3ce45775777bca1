#if canImport(SDWebImage)
    import SDWebImage

    extension PrefetchedImages {
        /// Lets SDWebImage read the images of the bundle when its own cache does not have them.
        ///
        /// It reads such a file and does not change, copy or expire it.
        public func serve(_ cache: SDImageCache = .shared) {
            let previous = cache.additionalCachePathBlock
            cache.additionalCachePathBlock = { key in path(forKey: key) ?? previous?(key) }
        }
    }
#endif
