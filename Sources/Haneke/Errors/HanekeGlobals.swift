/// The names and numbers that callers may rely on.
public enum HanekeGlobals {
    /// The domain of every ``HanekeError``, and the name of the directory that holds the caches.
    public static let Domain = "io.haneke"

    /// Names of the cache.
    public enum Cache {
        /// The format that every cache has from the start: values as they came.
        public static let OriginalFormatName = "original"
        /// How many transfers ``Haneke/Cache/prefetch(_:formatName:)`` has under way at a time.
        public static let PrefetchWidth = 4
    }

    /// Names of the caches in ``Shared``, which are also the names of their directories.
    public enum SharedCaches {
        /// The cache of images, which is part of the module for images.
        public static let ImageCacheName = "shared-images"
        /// The cache of plain bytes.
        public static let DataCacheName = "shared-data"
        /// The cache of text.
        public static let StringCacheName = "shared-strings"
        /// The cache of JSON.
        public static let JSONCacheName = "shared-json"
    }
}
