import Foundation
import Haneke
import Testing

@Suite("Data and String")
struct DataTypesTests {
    @Test("H-150: data is itself both ways", arguments: [Data(), Data([0]), Data([1, 2, 255])])
    func data(data: Data) {
        #expect(Data.convertFromData(data) == data)
        #expect(data.asData() == data)
    }

    @Test("H-151: text is UTF-8", arguments: ["", "plain", "é e\u{301} 🎬", "a\0b"])
    func text(text: String) throws {
        let data = try #require(text.asData())
        #expect(data == Data(text.utf8))
        #expect(String.convertFromData(data).map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(
        "H-151: invalid UTF-8 is no text", arguments: [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x61, 0x80]] as [[UInt8]])
    func invalidText(bytes: [UInt8]) {
        #expect(String.convertFromData(Data(bytes)) == nil)
    }

    @Test("H-156: a type without a form as bytes says nil, and its memory cost is unknown")
    func optionalData() throws {
        struct Shapeless: DataRepresentable {
            func asData() -> Data? { nil }
        }
        let value: any DataRepresentable = Shapeless()
        #expect(try value.asData() == nil)
        #expect(value.memoryCost == nil)
        #expect("é".memoryCost == 2)
        #expect(Data(count: 3).memoryCost == 3)
    }
}
