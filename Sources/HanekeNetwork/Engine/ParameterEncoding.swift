public import Foundation

/// Named values for a query or a body, in the order given.
///
/// ```swift
/// let parameters: RequestParameters = ["q": "swift cache", "page": 2, "tag": ["a", "b"]]
/// ```
public struct RequestParameters: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One value.
    public enum Value: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
        ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByNilLiteral
    {
        /// A text.
        case string(String)
        /// A whole number.
        case int(Int)
        /// Another number; it must be finite.
        case double(Double)
        /// "true" or "false".
        case bool(Bool)
        /// A repeated name.
        case array([Value])
        /// Left out.
        case none

        /// A text.
        public init(stringLiteral value: String) { self = .string(value) }
        /// A whole number.
        public init(integerLiteral value: Int) { self = .int(value) }
        /// A number.
        public init(floatLiteral value: Double) { self = .double(value) }
        /// "true" or "false".
        public init(booleanLiteral value: Bool) { self = .bool(value) }
        /// A repeated name.
        public init(arrayLiteral elements: Value...) { self = .array(elements) }
        /// Left out.
        public init(nilLiteral: ()) { self = .none }
    }

    /// How the name of an array is repeated.
    public enum ArrayStyle: Sendable {
        /// `tag=a&tag=b`
        case repeated
        /// `tag[]=a&tag[]=b`
        case brackets
    }

    /// The names and values in order.
    public var pairs: [(name: String, value: Value)]
    /// Default `.repeated`.
    public var arrayStyle = ArrayStyle.repeated

    /// The given pairs, none by default.
    public init(_ pairs: [(name: String, value: Value)] = []) { self.pairs = pairs }

    /// The pairs in the order of writing.
    public init(dictionaryLiteral elements: (String, Value)...) { pairs = elements.map { (name: $0.0, value: $0.1) } }

    /// Compares names and values in order.
    public static func == (left: RequestParameters, right: RequestParameters) -> Bool {
        left.arrayStyle == right.arrayStyle
            && left.pairs.elementsEqual(right.pairs) { $0.name == $1.name && $0.value == $1.value }
    }

    /// Names and texts, arrays unfolded and nil left out.
    ///
    /// Throws `.encoding` for a number that is not finite.
    func flattened() throws(NetworkError) -> [(name: String, text: String)] {
        var result: [(name: String, text: String)] = []
        for pair in pairs { try append(pair.value, named: pair.name, to: &result) }
        return result
    }

    private func append(
        _ value: Value, named name: String, to result: inout [(name: String, text: String)]
    ) throws(NetworkError) {
        switch value {
        case .none: break
        case .string(let text): result.append((name, text))
        case .int(let number): result.append((name, "\(number)"))
        case .bool(let flag): result.append((name, flag ? "true" : "false"))
        case .double(let number):
            guard number.isFinite else { throw Self.notFinite(name) }
            result.append((name, "\(number)"))
        case .array(let values):
            let inner = arrayStyle == .brackets ? name + "[]" : name
            for value in values { try append(value, named: inner, to: &result) }
        }
    }

    static func notFinite(_ name: String) -> NetworkError {
        NetworkError(.encoding, "the number of \"\(Redaction.printable(name))\" is not finite; give another")
    }
}

/// How parameters become a body.
public enum ParameterEncoding: Sendable {
    /// `application/x-www-form-urlencoded`.
    case url
    /// `application/json`: one object.
    case json
    /// `application/x-plist`: an XML property list with one dictionary.
    case plist
    /// Bytes of the caller's own making.
    case custom(contentType: String, @Sendable (RequestParameters) throws -> Data)

    /// The media type to send unless the request names another.
    public var contentType: String {
        switch self {
        case .url: "application/x-www-form-urlencoded"
        case .json: "application/json"
        case .plist: "application/x-plist"
        case .custom(let contentType, _): contentType
        }
    }

    /// The body; throws `.encoding` for what the format can't hold.
    public func body(_ parameters: RequestParameters) throws -> Data {
        switch self {
        case .url:
            return Data(Self.pairs(try parameters.flattened(), isForm: true).utf8)
        case .json:
            let object = try Self.object(parameters)
            return try Self.wrapping { try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]) }
        case .plist:
            let object = try Self.object(parameters)
            return try Self.wrapping {
                try PropertyListSerialization.data(fromPropertyList: object, format: .xml, options: 0)
            }
        case .custom(_, let encode):
            return try Self.wrapping { try encode(parameters) }
        }
    }

    /// `name=value&…` in the characters that a query or a form may hold.
    static func pairs(_ pairs: [(name: String, text: String)], isForm: Bool) -> String {
        pairs.map { "\(percentEncoded($0.name, isForm: isForm))=\(percentEncoded($0.text, isForm: isForm))" }
            .joined(separator: "&")
    }

    /// RFC 3986, 2.3.
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    private static func percentEncoded(_ text: String, isForm: Bool) -> String {
        var result = ""
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case _ where isUnreserved(byte): result.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " ") where isForm: result += "+"
            // A form's line ends are CR LF, however they were written (HTML, form submission).
            case 0x0A where isForm: result += previous == 0x0D ? "%0A" : "%0D%0A"
            default:
                result +=
                    byte < 16 ? "%0" + String(byte, radix: 16).uppercased() : "%" + String(byte, radix: 16).uppercased()
            }
            previous = byte
        }
        return result
    }

    private static func object(_ parameters: RequestParameters) throws(NetworkError) -> [String: Any] {
        var object: [String: Any] = [:]
        for pair in parameters.pairs {
            if let value = try plain(pair.value, pair.name) { object[pair.name] = value }
        }
        return object
    }

    private static func plain(_ value: RequestParameters.Value, _ name: String) throws(NetworkError) -> Any? {
        switch value {
        case .none: return nil
        case .string(let text): return text
        case .int(let number): return number
        case .bool(let flag): return flag
        case .double(let number):
            guard number.isFinite else { throw RequestParameters.notFinite(name) }
            return number
        case .array(let values):
            var result: [Any] = []
            for value in values { if let plain = try plain(value, name) { result.append(plain) } }
            return result
        }
    }

    private static func wrapping(_ body: () throws -> Data) throws(NetworkError) -> Data {
        do { return try body() } catch let error as NetworkError { throw error } catch {
            throw NetworkError(.encoding, "the parameters can't be encoded (\(error))", underlying: error)
        }
    }
}
