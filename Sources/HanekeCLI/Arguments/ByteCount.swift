/// Sizes as people write and read them, `64M` and `1.5 MiB`; all suffixes are powers of 1,024.
enum ByteCount {
    private static let suffixes: [(letter: Character, shift: UInt64)] = [("K", 10), ("M", 20), ("G", 30), ("T", 40)]

    /// Reads a whole number with one of K, M, G, T or none, in either case; nil if it is none or exceeds 64 bits.
    static func parse(_ text: String) -> UInt64? {
        if text == "unlimited" { return .max }
        var digits = text[...]
        var shift: UInt64 = 0
        if let last = digits.last, let suffix = suffixes.first(where: { $0.letter == Character(last.uppercased()) }) {
            shift = suffix.shift
            digits.removeLast()
        }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt64(digits)
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow ? nil : product
    }

    /// `0 bytes`, `1 byte`, `1.5 MiB`, `unlimited`.
    static func text(_ bytes: UInt64) -> String {
        if bytes == .max { return "unlimited" }
        if bytes < 1_024 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
        var tenths = Double(bytes) * 10
        var unit = ""
        for suffix in suffixes where tenths >= 10_235 {
            tenths /= 1_024
            unit = "\(suffix.letter)iB"
        }
        let rounded = Int(tenths.rounded())
        return "\(rounded / 10).\(rounded % 10) \(unit)"
    }

    /// The same for a size in memory.
    static func text(_ bytes: Int) -> String { text(UInt64(clamping: bytes)) }
}
