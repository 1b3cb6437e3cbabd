// A value as it is on the disk: a tag that says of which type it is, and its data.

import Foundation

struct StoredValue {
    let tag: String
    let payload: Data

    private static let dataTag = builtIn("Data")
    private static let textTag = builtIn("String")

    private static func builtIn(_ kind: String) -> String { "=" + kind }

    /// Encodes a value; nil if its type can't be kept on a disk.
    init?(_ value: any Sendable) {
        if let value = value as? any BuiltInValue {
            tag = Self.builtIn(type(of: value).kind)
            payload = value.payload
        } else if let value = value as? any Persistable {
            tag = ":" + type(of: value).persistentName
            payload = value.asData()
        } else if value is any Decodable, let value = value as? any Encodable,
            let json = try? JSONEncoder().encode(value)
        {
            tag = ":" + String(describing: type(of: value))
            payload = json
        } else {
            return nil
        }
    }

    /// What a record with a tag is, as a type; nil if it is none.
    ///
    /// Data reads every record, and a persistable type also those of data and text.
    static func decode<T>(_ type: T.Type, tag: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> T? {
        if type == Data.self { return Data(bytes) as? T }
        if let builtIn = T.self as? any BuiltInValue.Type {
            return equals(tag, Self.builtIn(builtIn.kind)) ? builtIn.init(payload: bytes) as? T : nil
        }
        if let type = T.self as? any Persistable.Type {
            guard equals(tag, ":" + type.persistentName) || equals(tag, dataTag) || equals(tag, textTag) else {
                return nil
            }
            return type.init(data: Data(bytes)) as? T
        }
        if type == (any Sendable).self { return untyped(tag, bytes) as? T }
        guard let type = T.self as? any Decodable.Type, equals(tag, ":" + String(describing: T.self)) else {
            return nil
        }
        return (try? JSONDecoder().decode(type, from: Data(bytes))) as? T
    }

    private static func equals(_ tag: UnsafeRawBufferPointer, _ text: String) -> Bool {
        tag.elementsEqual(text.utf8)
    }

    private static let kinds: [any BuiltInValue.Type] = [
        String.self, [UInt8].self, Bool.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self,
        UInt8.self, UInt16.self, UInt32.self, UInt64.self, Double.self, Date.self, URL.self,
    ]

    /// A record of a built-in kind as that, any other as its data.
    private static func untyped(_ tag: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> any Sendable {
        for kind in kinds where equals(tag, builtIn(kind.kind)) {
            if let value = kind.init(payload: bytes) { return value }
        }
        return Data(bytes)
    }
}
