import CHaneke
import TestSupport
import Testing

@Suite struct StatusTests {
    static let all = (-20...3).map { Int32($0) }

    @Test("every status has a name of its own and a sentence", arguments: all)
    func known(code: Int32) throws {
        let status = try #require(hnk_status(rawValue: code))
        let name = String(cString: hnk_status_name(status))
        let text = String(cString: hnk_status_text(status))
        #expect(name.hasPrefix("HNK_") && name != "HNK_UNKNOWN")
        #expect(name.hasPrefix("HNK_ERROR_") == (code < 0))
        #expect(!text.isEmpty && !text.contains("does not know"))
    }

    @Test("names and sentences are distinct")
    func distinct() {
        let statuses = Self.all.compactMap { hnk_status(rawValue: $0) }
        #expect(Set(statuses.map { String(cString: hnk_status_name($0)) }).count == statuses.count)
        #expect(Set(statuses.map { String(cString: hnk_status_text($0)) }).count == statuses.count)
    }

    @Test("a status of another version is named unknown", arguments: [4, 1_000, -21, Int32.min, Int32.max])
    func unknown(code: Int32) throws {
        let status = try #require(hnk_status(rawValue: code))
        #expect(String(cString: hnk_status_name(status)) == "HNK_UNKNOWN")
        #expect(String(cString: hnk_status_text(status)) == "a status that this version does not know")
    }

    @Test("the version is told, alone and with those of LMDB and xxHash")
    func versions() {
        #expect(String(cString: hnk_version()) == HNK_VERSION_TEXT)
        let information = String(cString: hnk_build_information())
        #expect(information.hasPrefix("haneke \(HNK_VERSION_TEXT), format 1, LMDB 0.9."))
        #expect(information.contains(", xxHash 0."))
    }
}
