enum PrefetcherPlaceholder {}
