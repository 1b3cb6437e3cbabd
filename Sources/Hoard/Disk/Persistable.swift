public import Foundation

/// A type whose values can be kept on a disk as data of its own making.
///
/// `Codable` types need not conform: they are kept as JSON.
public protocol Persistable: Sendable {
    /// What its records are marked with, so that no other type reads them; default the unqualified name of the type.
    static var persistentName: String { get }
    /// Reads a value; nil if the data is not one.
    init?(data: Data)
    /// The value as data.
    func asData() -> Data
}

extension Persistable {
    /// The unqualified name of the type.
    public static var persistentName: String { String(describing: Self.self) }
}
