import Foundation
import Haneke
import Testing

@Suite("JSON")
struct JSONTests {
    @Test("H-152: a dictionary or an array stands at the top", arguments: [#"{"a":1}"#, "{}", "[1, [2]]", "[]"])
    func topLevel(text: String) {
        #expect(JSON.convertFromData(Data(text.utf8)) != nil)
    }

    @Test(
        "H-152: a fragment or a malformed text is no JSON",
        arguments: ["1", #""text""#, "null", "true", "", "{", "[1,]x", "nonsense", #"{"a":}"#])
    func noJSON(text: String) {
        #expect(JSON.convertFromData(Data(text.utf8)) == nil)
    }

    @Test(
        "H-152: fragments are read where they are allowed",
        arguments: [
            ("1", JSON.integer(1)), ("1.5", 1.5), (#""a""#, "a"), ("null", nil), ("true", true), ("false", false),
        ] as [(String, JSON)])
    func fragments(text: String, value: JSON) throws {
        #expect(try JSON(data: Data(text.utf8), allowsFragments: true) == value)
        #expect(value.asData() == nil)
        #expect(value.data(allowsFragments: true) == Data(text.utf8))
    }

    @Test("H-153: dictionary is nil for an array, and array for a dictionary")
    func views() throws {
        let dictionary = try JSON(data: Data(#"{"bio":"film","n":[1,2.5,true,null]}"#.utf8))
        #expect(dictionary.array == nil)
        #expect(dictionary.dictionary?["bio"]?.string == "film")
        #expect("\(dictionary.dictionary?["bio"] as Any)" == #"Optional("film")"#)
        let array = try #require(dictionary["n"])
        #expect(array.dictionary == nil)
        #expect(array.array?.count == 4)
        #expect(array[0]?.int == 1 && array[1]?.double == 2.5 && array[2]?.bool == true && array[3]?.isNull == true)
        #expect(array[4] == nil && array[-1] == nil && array["x"] == nil)
        #expect(array[1]?.int == nil && array[0]?.bool == nil)
    }

    @Test("H-153: a value gives Foundation's types, too")
    func foundationView() throws {
        let json: JSON = ["a": [1, "b"], "c": nil]
        let object = try #require(json.object as? [String: Any])
        #expect((object["a"] as? [Any])?.count == 2)
        #expect(object["c"] is NSNull)
    }

    @Test("numbers keep their kind: whole ones to 64 bits, the others as doubles")
    func numbers() throws {
        let text = "[9223372036854775807, -9223372036854775807, 18446744073709551615, 1.0, 0, 1e3]"
        let json = try JSON(data: Data(text.utf8))
        #expect(json[0] == .integer(.max))
        #expect(json[1] == .integer(-.max))
        #expect(json[2] == .number(Double(UInt64.max)))
        #expect(json[3]?.int == 1 && json[3]?.double == 1)
        #expect(json[4] == .integer(0))
        #expect(json[5]?.double == 1_000)
    }

    @Test("H-154: NaN and infinity have no text", arguments: [Double.nan, .infinity, -.infinity])
    func notSerialisable(number: Double) {
        #expect(JSON.array([.number(number)]).asData() == nil)
        #expect(JSON.dictionary(["a": [.number(number)]]).asData() == nil)
        #expect(!JSON.array([.number(number)]).description.isEmpty)
    }

    @Test("a text survives writing and reading")
    func roundTrip() throws {
        let json: JSON = ["text": "é\"\n", "list": [1, 2.5, true, false, nil, ["deep": []]]]
        #expect(JSON.convertFromData(try #require(json.asData())) == json)
    }

    @Test("a text nested too deeply is refused, not a crash")
    func deep() {
        let text = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(JSON.convertFromData(Data(text.utf8)) == nil)
    }
}
