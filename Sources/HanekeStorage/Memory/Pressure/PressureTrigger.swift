/// A threshold of stalled time above which the kernel tells of pressure (Linux, accounting/psi.rst).
package struct PressureTrigger: Sendable, Equatable {
    package let level: MemoryPressureLevel
    /// The texts to try in turn.
    ///
    /// The kernel refuses windows other than of whole 2 s without CAP_SYS_RESOURCE.
    package let texts: [String]

    /// Some tasks were stalled for 15 % of a second or two, or all of them for 10 %.
    package static let all = [
        PressureTrigger(level: .warning, texts: ["some 150000 1000000", "some 300000 2000000"]),
        PressureTrigger(level: .critical, texts: ["full 100000 1000000", "full 200000 2000000"]),
    ]

    /// The first text that `arm` accepts, with what `arm` made of it; nil if it refuses all.
    package func arm<Armed>(_ arm: (String) -> Armed?) -> Armed? {
        for text in texts {
            if let armed = arm(text) { return armed }
        }
        return nil
    }
}
