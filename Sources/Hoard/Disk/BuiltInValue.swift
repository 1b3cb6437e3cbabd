// The kinds of values that a disk context keeps without being told how. Numbers are 8 bytes, little-endian.

import Foundation

protocol BuiltInValue: Sendable {
    static var kind: String { get }
    var payload: Data { get }
    init?(payload: UnsafeRawBufferPointer)
}

extension Data: BuiltInValue {
    static var kind: String { "Data" }
    var payload: Data { self }
    init?(payload: UnsafeRawBufferPointer) { self.init(payload) }
}

extension String: BuiltInValue {
    static var kind: String { "String" }
    var payload: Data { Data(utf8) }
    init?(payload: UnsafeRawBufferPointer) { self.init(validating: payload, as: UTF8.self) }
}

extension Array: BuiltInValue where Element == UInt8 {
    static var kind: String { "Bytes" }
    var payload: Data { Data(self) }
    init?(payload: UnsafeRawBufferPointer) { self.init(payload) }
}

extension Bool: BuiltInValue {
    static var kind: String { "Bool" }
    var payload: Data { Data([self ? 1 : 0]) }
    init?(payload: UnsafeRawBufferPointer) {
        guard payload.count == 1 else { return nil }
        self = payload[0] != 0
    }
}

extension BuiltInValue where Self: FixedWidthInteger {
    static var kind: String { String(describing: Self.self) }
    var payload: Data { withUnsafeBytes(of: littleEndian) { Data($0) } }
    init?(payload: UnsafeRawBufferPointer) {
        guard payload.count == MemoryLayout<Self>.size else { return nil }
        self.init(littleEndian: payload.loadUnaligned(as: Self.self))
    }
}

extension Int: BuiltInValue {}
extension Int8: BuiltInValue {}
extension Int16: BuiltInValue {}
extension Int32: BuiltInValue {}
extension Int64: BuiltInValue {}
extension UInt: BuiltInValue {}
extension UInt8: BuiltInValue {}
extension UInt16: BuiltInValue {}
extension UInt32: BuiltInValue {}
extension UInt64: BuiltInValue {}

extension Double: BuiltInValue {
    static var kind: String { "Double" }
    var payload: Data { bitPattern.payload }
    init?(payload: UnsafeRawBufferPointer) {
        guard let bits = UInt64(payload: payload) else { return nil }
        self.init(bitPattern: bits)
    }
}

extension Date: BuiltInValue {
    static var kind: String { "Date" }
    var payload: Data { timeIntervalSinceReferenceDate.payload }
    init?(payload: UnsafeRawBufferPointer) {
        guard let seconds = Double(payload: payload) else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }
}

extension URL: BuiltInValue {
    static var kind: String { "URL" }
    var payload: Data { absoluteString.payload }
    init?(payload: UnsafeRawBufferPointer) {
        guard let text = String(payload: payload) else { return nil }
        self.init(string: text)
    }
}
