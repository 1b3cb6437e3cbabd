internal import CHaneke

/// What went wrong in the store: which rule, to what, and what to do about it.
///
/// A miss is not an error: reads answer `nil`.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// New kinds may come; a `switch` needs a default.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The `hnk_status` of the C interface.
        public let rawValue: Int32

        /// Makes a code out of an `hnk_status`.
        public init(rawValue: Int32) { self.rawValue = rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The key it happened to, shortened and escaped for printing; nil where no key was involved.
    public let key: String?
    /// The system's `errno`; 0 where the system had no part in it.
    public let osError: Int32
    /// What happened, to what, and what to do.
    public let description: String

    init(_ status: hnk_status, key: String? = nil, detail: hnk_error? = nil) {
        var text = ""
        if let detail, detail.status == status {
            text = withUnsafeBytes(of: detail.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        if text.isEmpty {
            text = String(cString: hnk_status_text(status))
        }
        self.code = Code(rawValue: status.rawValue)
        self.key = key.map(Self.excerpt)
        self.osError = detail?.os_error ?? 0
        self.description = self.key.map { "key \"\($0)\": \(text)" } ?? text
    }

    private static func excerpt(_ key: String) -> String {
        let shown = key.unicodeScalars.prefix(64).map {
            $0.properties.generalCategory == .control || $0 == "\"" ? $0.escaped(asASCII: true) : String($0)
        }.joined()
        return key.unicodeScalars.count > 64 ? shown + "…" : shown
    }
}

extension StoreError.Code {
    /// The system refused an input or output operation; `osError` says why.
    public static let io = Self(hnk_status.io)
    /// No memory.
    public static let memory = Self(hnk_status.memory)
    /// An option that this version does not know.
    public static let argument = Self(hnk_status.argument)
    /// The key is empty or over 65,536 bytes of UTF-8.
    public static let keySize = Self(hnk_status.keySize)
    /// The metadata is over 65,536 bytes.
    public static let metadataSize = Self(hnk_status.metadataSize)
    /// The bucket's name is over 255 bytes of UTF-8.
    public static let nameSize = Self(hnk_status.nameSize)
    /// The value alone exceeds the bucket's capacity; nothing was evicted for it.
    public static let valueTooLarge = Self(hnk_status.valueTooLarge)
    /// The file system has no room, even after evicting.
    public static let diskFull = Self(hnk_status.diskFull)
    /// The directory may not be read and written.
    public static let access = Self(hnk_status.access)
    /// A file stands where the directory should be.
    public static let notADirectory = Self(hnk_status.notADirectory)
    /// The directory holds another program's data.
    public static let notAStore = Self(hnk_status.notAStore)
    /// A newer version wrote the store.
    public static let newerFormat = Self(hnk_status.newerFormat)
    /// The store is damaged and the options say to refuse.
    public static let damagedStore = Self(hnk_status.damagedStore)
    /// The directory was deleted while it was open.
    public static let directoryGone = Self(hnk_status.directoryGone)
    /// The store was opened before `fork()`.
    public static let forked = Self(hnk_status.forked)
    /// Too many leases at once, over all processes.
    public static let readersFull = Self(hnk_status.readersFull)
    /// The bucket (or, when it must exist, the store) is not there; it may have been dropped meanwhile.
    public static let notFound = Self(hnk_status.notFound)
    /// A progress closure asked to stop.
    public static let cancelled = Self(hnk_status.cancelled)
    /// A bug in the store.
    public static let internalFault = Self(hnk_status.internal)

    private init(_ status: hnk_status) { self.init(rawValue: status.rawValue) }
}
