import Foundation

/// How far a long command is: one line on standard error that overwrites itself, on a terminal only.
struct Progress {
    private let isShown = Descriptor.standardError.isTerminal
    private var lastShown: ContinuousClock.Instant?
    private static let interval = Duration.milliseconds(100)

    /// Shows `text`, unless something was shown just now.
    mutating func show(_ text: @autoclosure () -> String) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let lastShown, now - lastShown < Self.interval { return }
        lastShown = now
        put("\r\u{1B}[K" + Printable.text(text()))
    }

    /// Takes the line away.
    mutating func clear() {
        guard lastShown != nil else { return }
        lastShown = nil
        put("\r\u{1B}[K")
    }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        try? bytes.withUnsafeBytes { try Descriptor.standardError.write($0) }
    }
}
