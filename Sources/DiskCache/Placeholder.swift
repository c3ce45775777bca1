enum DiskCachePlaceholder {}
