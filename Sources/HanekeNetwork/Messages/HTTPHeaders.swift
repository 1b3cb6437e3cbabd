/// The field lines of a message, in order, with their names as written.
///
/// Names are compared without regard to ASCII case (RFC 9110, 5.1).
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers["accept"]                 // "application/json"
/// headers.add("W/\"1\"", for: "If-None-Match")
/// ```
public struct HTTPHeaders: Sendable, Equatable {
    /// One field line.
    public struct Field: Sendable, Equatable {
        /// The name as written.
        public let name: String
        /// The value without surrounding white space.
        public let value: String

        /// A line; nothing is checked before the message is sent.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private var fields: [Field]

    /// The given lines, none by default.
    public init(_ fields: [Field] = []) { self.fields = fields }

    /// The value of a field; several lines are joined with ", ".
    ///
    /// Nil if there is none. O(number of lines).
    ///
    /// `Set-Cookie` is never joined, since its values hold commas: this gives the first, `values(for:)` all.
    /// Setting replaces every line of that name with one, at the place of the first; nil removes them.
    public subscript(name: String) -> String? {
        get {
            let values = values(for: name)
            guard let first = values.first else { return nil }
            return values.count == 1 || name.isSameToken(as: "Set-Cookie") ? first : values.joined(separator: ", ")
        }
        set {
            let place = fields.firstIndex { $0.name.isSameToken(as: name) }
            fields.removeAll { $0.name.isSameToken(as: name) }
            guard let newValue else { return }
            fields.insert(Field(name: name, value: newValue), at: place ?? fields.endIndex)
        }
    }

    /// The values of all lines with this name, in order.
    ///
    /// O(number of lines).
    public func values(for name: String) -> [String] {
        fields.lazy.filter { $0.name.isSameToken(as: name) }.map(\.value)
    }

    /// True if a line has this name.
    ///
    /// O(number of lines).
    public func contains(_ name: String) -> Bool {
        fields.contains { $0.name.isSameToken(as: name) }
    }

    /// Appends a line, leaving others of the same name as they are.
    public mutating func add(_ value: String, for name: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of lines.
    public var endIndex: Int { fields.count }
    /// The line at a position.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// The pairs as lines, in order; a repeated name makes several lines.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// The lines, one a row; the values of fields that carry secrets print as `***`.
    public var description: String {
        fields.map { "\($0.name): \(Redaction.isSecretField($0.name) ? Redaction.mark : $0.value)" }
            .joined(separator: "\n")
    }
}

extension String {
    /// Equal but for ASCII case, as field names and schemes are compared.
    func isSameToken(as other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self + 0x20 : self }
}
