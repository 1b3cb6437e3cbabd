import Foundation
import Haneke
import Testing

@Suite("HanekeError")
struct HanekeErrorTests {
    @Test("H-240: the domain is io.haneke, and an NSError keeps code, description, cause and status")
    func bridges() throws {
        let cause = CocoaError(.fileReadNoSuchFile)
        let error = HanekeError(.invalidStatusCode, "not found", underlyingError: cause, statusCode: 404) as NSError
        #expect(error.domain == "io.haneke")
        #expect(HanekeGlobals.Domain == "io.haneke")
        #expect(error.code == -402)
        #expect(error.localizedDescription == "not found")
        #expect(error.userInfo[HanekeError.statusCodeKey] as? Int == 404)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? any Error) is CocoaError)
    }

    @Test("H-240: a description is never empty")
    func neverEmpty() {
        #expect(!HanekeError(.objectNotFound, "").description.isEmpty)
    }

    @Test(
        "H-241, H-242: the codes have their numbers for ever",
        arguments: [
            (HanekeError.Code.objectNotFound, -100), (.formatNotFound, -101), (.undecodableData, -102),
            (.formatCycle, -103), (.invalidKey, -104), (.notImplemented, -200), (.fetcherAbandoned, -201),
            (.valueTooLarge, -300), (.diskWriteFailed, -301), (.diskReadFailed, -302), (.diskUnavailable, -303),
            (.invalidData, -400), (.missingData, -401), (.invalidStatusCode, -402), (.invalidFileData, -500),
        ])
    func numbers(code: HanekeError.Code, number: Int) {
        #expect(code.rawValue == number)
        #expect(HanekeError(code, "x").errorCode == number)
    }
}
