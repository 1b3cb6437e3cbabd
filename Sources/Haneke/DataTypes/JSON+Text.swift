// JSON as text: reading, writing, and the views that older code expects.

public import Foundation

extension JSON: DataConvertible, DataRepresentable {
    /// The value of a JSON text; nil if it is malformed or if neither a dictionary nor an array is at its top.
    public static func convertFromData(_ data: Data) -> JSON? {
        try? JSON(data: data)
    }

    /// The value as JSON text; nil if it cannot be one (NaN, infinity) or is neither a dictionary nor an array.
    public func asData() -> Data? {
        data()
    }

    /// Reads a JSON text.
    ///
    /// - Parameters:
    ///   - data: The text, in UTF-8, UTF-16 or UTF-32.
    ///   - allowsFragments: Whether the text may be a single string, number, truth value or null. Default false.
    /// - Throws: The reader's error, which names the place of the fault.
    public init(data: Data, allowsFragments: Bool = false) throws {
        self = JSON(
            object: try JSONSerialization.jsonObject(with: data, options: allowsFragments ? .fragmentsAllowed : []))
    }

    /// Writes the value as JSON text, in UTF-8.
    ///
    /// - Parameter allowsFragments: Whether the value may be other than a dictionary or an array. Default false.
    /// - Returns: nil if the value has no form as JSON text: a number in it is NaN or infinite, or it is a fragment
    ///   and none is allowed.
    public func data(allowsFragments: Bool = false) -> Data? {
        guard isWritable, allowsFragments || dictionary != nil || array != nil else { return nil }
        return try? JSONSerialization.data(withJSONObject: object, options: [.fragmentsAllowed, .sortedKeys])
    }

    /// The value in Foundation's types: `[String: Any]`, `[Any]`, `String`, numbers, `Bool`, `NSNull`.
    public var object: Any {
        switch self {
        case .dictionary(let members): members.mapValues(\.object)
        case .array(let elements): elements.map(\.object)
        case .string(let text): text
        case .integer(let number): number
        case .number(let number): number
        case .bool(let value): value
        case .null: NSNull()
        }
    }

    /// What Foundation's reader made.
    ///
    /// Its truth values are numbers with the type code of a character.
    private init(object: Any) {
        switch object {
        case let members as [String: Any]: self = .dictionary(members.mapValues(JSON.init(object:)))
        case let elements as [Any]: self = .array(elements.map(JSON.init(object:)))
        case let text as String: self = .string(text)
        case let number as NSNumber: self = JSON(number)
        default: self = .null
        }
    }

    private init(_ number: NSNumber) {
        switch String(cString: number.objCType) {
        case "c", "B": self = .bool(number.boolValue)
        case "d", "f":
            // Foundation on Linux says "double" of integers under -2^62 too, although it keeps all their digits.
            let whole = number.int64Value
            let isWhole = number.doubleValue.magnitude >= 0x1p62 && Double(whole) == number.doubleValue
            self = isWhole ? .integer(whole) : .number(number.doubleValue)
        case "Q" where number.uint64Value > UInt64(Int64.max): self = .number(number.doubleValue)
        default: self = .integer(number.int64Value)
        }
    }

    private var isWritable: Bool {
        switch self {
        case .dictionary(let members): members.values.allSatisfy(\.isWritable)
        case .array(let elements): elements.allSatisfy(\.isWritable)
        case .number(let number): number.isFinite
        default: true
        }
    }
}

extension JSON: CustomStringConvertible {
    /// The value as JSON text, members in the order of their names.
    public var description: String {
        data(allowsFragments: true).map { String(decoding: $0, as: UTF8.self) }
            ?? "JSON that has no text (NaN or infinity)"
    }
}
