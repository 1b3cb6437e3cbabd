import CHaneke
import TestSupport
import Testing

@Suite(.enabled(if: Child.faults.isAvailable, "needs a C compiler, and a linker that knows --wrap"))
struct FaultTests {
    @Test(
        "each allocation and system call of a long scenario may fail: a status, a sound store, and what was there stays"
    )
    func eachCall() throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.faults.run([directory.path("store")])
        #expect(status == 0, "\(output)")
        let failed = output.split(separator: "\n").last.flatMap { Int($0) }
        #expect((failed ?? 0) > 300, "\(output)")
    }
}
