public import Foundation

/// What went wrong in a cache: which rule, to what, and what lies beneath it.
public struct HanekeError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// New kinds may come; a `switch` needs a default.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The number, for ever the same.
        ///
        /// Also the `code` of the error as an `NSError`.
        public let rawValue: Int

        /// Makes a code out of its number.
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// What happened and to what; never empty.
    public let description: String
    /// The error beneath: the store's, the system's or that of a conversion; nil if there is none.
    public let underlyingError: (any Error)?
    /// The status of the server's answer; nil where no server answered.
    public let statusCode: Int?

    /// Describes a failure, for a fetcher of your own.
    public init(_ code: Code, _ description: String, underlyingError: (any Error)? = nil, statusCode: Int? = nil) {
        self.code = code
        self.description = description.isEmpty ? "error \(code.rawValue)" : description
        self.underlyingError = underlyingError
        self.statusCode = statusCode
    }
}

extension HanekeError.Code {
    /// −100: no value is under the key, and there is nothing to fetch it with.
    public static let objectNotFound = Self(rawValue: -100)
    /// −101: the cache has no format of that name.
    public static let formatNotFound = Self(rawValue: -101)
    /// −102: the bytes on disk do not stand for a value; they have been removed.
    public static let undecodableData = Self(rawValue: -102)
    /// −103: the parents of a format lead back to it.
    public static let formatCycle = Self(rawValue: -103)
    /// −104: the key is empty or longer than 65,536 bytes of UTF-8.
    public static let invalidKey = Self(rawValue: -104)
    /// −200: a subclass of `Fetcher` does not override `fetch`.
    public static let notImplemented = Self(rawValue: -200)
    /// −201: a fetcher let go of both its closures without calling one.
    public static let fetcherAbandoned = Self(rawValue: -201)
    /// −300: the value alone exceeds the format's capacity on disk.
    public static let valueTooLarge = Self(rawValue: -300)
    /// −301: the value could not be written to disk.
    public static let diskWriteFailed = Self(rawValue: -301)
    /// −302: the disk could not be read.
    public static let diskReadFailed = Self(rawValue: -302)
    /// −303: the cache's directory cannot be used; the cache works from memory.
    public static let diskUnavailable = Self(rawValue: -303)
    /// −400: the bytes that a server sent do not stand for a value.
    public static let invalidData = Self(rawValue: -400)
    /// −401: a server sent fewer bytes than it announced.
    public static let missingData = Self(rawValue: -401)
    /// −402: a server answered with a status that is no success.
    public static let invalidStatusCode = Self(rawValue: -402)
    /// −500: the bytes of a file do not stand for a value.
    public static let invalidFileData = Self(rawValue: -500)
}

extension HanekeError: CustomNSError, LocalizedError {
    /// ``HanekeGlobals/Domain``.
    public static var errorDomain: String { HanekeGlobals.Domain }

    /// The number of the code.
    public var errorCode: Int { code.rawValue }

    /// The key of ``statusCode`` in the user info of the error as an `NSError`.
    public static let statusCodeKey = "HanekeStatusCode"

    /// The description, the underlying error and the status, as far as there are any.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        info[NSUnderlyingErrorKey] = underlyingError
        info[Self.statusCodeKey] = statusCode
        return info
    }

    /// The same as `description`.
    public var errorDescription: String? { description }
}
