/// A question, and the way to its answer.
protocol Scenario {
    /// The question, without its mark: "get, warm, 1 KiB, Zipf 0.99, 1 thread".
    var name: String { get }

    func run(_ bench: Bench) throws -> Outcome
}

/// A rival in one way of use.
struct Contender {
    let label: String
    let rival: Rival
    var threads = 1
    /// The sets of so many requests are written together; 1 = each at once.
    var group = 1
}

/// The contender `label` must be at least `least` times as fast as `over`.
struct RatioGoal {
    let label: String
    let over: String
    let least: Double

    var text: String { "\(label) ≥ \(least) × \(over)" }
}
