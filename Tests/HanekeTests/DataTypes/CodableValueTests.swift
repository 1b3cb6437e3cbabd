import Foundation
import Haneke
import Testing

@Suite("CodableValue")
struct CodableValueTests {
    struct User: Codable, Sendable, Hashable {
        var name: String
        var born: Int
    }

    @Test(
        "H-155: any codable value is written and read, as JSON or as a property list",
        arguments: [
            CodableValue<User>.Coding.json, .propertyList,
        ])
    func roundTrip(coding: CodableValue<User>.Coding) throws {
        let user = CodableValue(User(name: "Ada", born: 1815), coding: coding)
        let data = try #require(try user.asData())
        let read = try #require(try CodableValue<User>.convertFromData(data))
        #expect(read == user)
        #expect(read.coding == coding)
        #expect(read.name == "Ada")
        #expect(data.starts(with: Data("bplist".utf8)) == (coding == .propertyList))
    }

    @Test("H-155: a single number is a codable value, too")
    func fragment() throws {
        let data = try #require(try CodableValue(7).asData())
        #expect(try CodableValue<Int>.convertFromData(data)?.value == 7)
    }

    @Test("H-157: what does not decode throws the decoder's error")
    func undecodable() {
        #expect(throws: DecodingError.self) { try CodableValue<User>.convertFromData(Data("{}".utf8)) }
        #expect(throws: (any Error).self) { try CodableValue<User>.convertFromData(Data("bplist00".utf8)) }
    }

    @Test("H-157: what does not encode throws the encoder's error")
    func unencodable() {
        #expect(throws: EncodingError.self) { try CodableValue([Double.nan]).asData() }
    }
}
