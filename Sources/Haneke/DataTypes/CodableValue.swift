public import Foundation

/// Any `Codable` value in the form that a cache wants, without a line of conversion.
///
/// ```swift
/// struct User: Codable, Sendable { let name: String }
/// let users = Cache<CodableValue<User>>(name: "users")
/// users.set(value: CodableValue(User(name: "Ada")), key: "ada")
/// let name = try await users.fetch(key: "ada").value.name     // members of the value are read through
/// ```
@dynamicMemberLookup
public struct CodableValue<Value: Codable & Sendable>: Sendable {
    /// How the value is written.
    public enum Coding: Sendable, Hashable {
        /// As JSON.
        case json
        /// As a binary property list.
        case propertyList
    }

    /// The value itself.
    public let value: Value
    /// How it is written; how it was written, if it was read.
    public let coding: Coding

    /// Wraps a value.
    ///
    /// - Parameter coding: How it is to be written. Default: JSON. Reading finds out by itself.
    public init(_ value: Value, coding: Coding = .json) {
        self.value = value
        self.coding = coding
    }

    /// A member of the value.
    public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { value[keyPath: path] }
}

extension CodableValue: Equatable where Value: Equatable {}
extension CodableValue: Hashable where Value: Hashable {}

extension CodableValue: DataConvertible, DataRepresentable {
    /// How every binary property list starts, and no JSON text.
    private static var propertyListMagic: Data { Data("bplist".utf8) }

    /// Decodes the value, from JSON or from a binary property list.
    ///
    /// - Throws: The decoder's error.
    public static func convertFromData(_ data: Data) throws -> CodableValue? {
        if data.starts(with: propertyListMagic) {
            return CodableValue(try PropertyListDecoder().decode(Value.self, from: data), coding: .propertyList)
        }
        return CodableValue(try JSONDecoder().decode(Value.self, from: data))
    }

    /// Encodes the value.
    ///
    /// - Throws: The encoder's error.
    public func asData() throws -> Data? {
        switch coding {
        case .json: return try JSONEncoder().encode(value)
        case .propertyList:
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            return try encoder.encode(value)
        }
    }
}
