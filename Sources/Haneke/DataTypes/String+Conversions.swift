public import Foundation

/// Text stands as UTF-8.
extension String: DataConvertible, DataRepresentable {
    /// The text; nil if the bytes are not UTF-8.
    public static func convertFromData(_ data: Data) -> String? {
        String(validating: data, as: UTF8.self)
    }

    /// The text as UTF-8.
    public func asData() -> Data? { Data(utf8) }

    /// The number of bytes of UTF-8.
    public var memoryCost: Int? { utf8.count }
}
