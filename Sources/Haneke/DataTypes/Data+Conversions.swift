public import Foundation

/// Bytes stand for themselves, zero bytes included.
extension Data: DataConvertible, DataRepresentable {
    /// The data itself.
    public static func convertFromData(_ data: Data) -> Data? { data }

    /// The data itself.
    public func asData() -> Data? { self }

    /// The number of bytes.
    public var memoryCost: Int? { count }
}
