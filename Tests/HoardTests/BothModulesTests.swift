// T-002: a file that imports both modules compiles, with all three spellings.

import Haneke
import Hoard
import Testing

@Suite("Beside Haneke")
struct BothModulesTests {
    @Test("T-001, T-002: TreeCache, Hoard.Cache and Haneke.Cache are told apart")
    func spellings() {
        let trees: [TreeCache] = [TreeCache(), Hoard.Cache(), .shared]
        #expect(trees.count == 3)
        #expect(Haneke.Cache<String>.self != Any.self)
    }
}
