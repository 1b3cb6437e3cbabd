/// A JSON text as a value.
///
/// ```swift
/// let user = try await Shared.JSONCache.fetch(URL: url).value
/// print(user.dictionary?["bio"] as Any)
/// print(user["followers"]?.int ?? 0)
/// ```
///
/// At the top level of a cached text stands a dictionary or an array; the other cases are what these hold.
public enum JSON: Sendable, Hashable {
    /// Members by name. Their order is not kept; of members with one name the last counts.
    case dictionary([String: JSON])
    /// Elements in order.
    case array([JSON])
    /// Text.
    case string(String)
    /// A whole number that fits 64 bits, written without fraction or exponent.
    case integer(Int64)
    /// Any other number, as the nearest double.
    case number(Double)
    /// `true` or `false`.
    case bool(Bool)
    /// `null`.
    case null
}

extension JSON {
    /// The members; nil if this is not a dictionary.
    public var dictionary: [String: JSON]? {
        if case .dictionary(let members) = self { members } else { nil }
    }

    /// The elements; nil if this is not an array.
    public var array: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text; nil if this is not a string.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if it is whole and fits; else nil.
    public var int: Int? {
        switch self {
        case .integer(let number): Int(exactly: number)
        case .number(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The number, rounded to a double if need be; nil if this is not a number.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// The truth value; nil if this is none.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The member of that name; nil if there is none or if this is not a dictionary.
    public subscript(name: String) -> JSON? { dictionary?[name] }

    /// The element at that position; nil if there is none or if this is not an array.
    public subscript(index: Int) -> JSON? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// A dictionary; of members with one name the last counts.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .dictionary(Dictionary(elements) { _, last in last })
    }

    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }

    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// `null`.
    public init(nilLiteral: ()) { self = .null }
}
