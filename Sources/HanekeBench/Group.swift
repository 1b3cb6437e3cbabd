/// What a run asks about; each has a folder of its own.
enum Group: String, CaseIterable {
    /// The disk store against other stores.
    case store
    /// The cache in memory against other caches.
    case memory

    /// The questions, in the order in which they are asked.
    func scenarios(_ arguments: Arguments) -> [any Scenario] {
        switch self {
        case .store: StoreScenarios.all(arguments)
        case .memory: MemoryScenarios.all(arguments)
        }
    }

    /// The rivals whose versions a report names.
    var versions: [Version] {
        switch self {
        case .store: Rival.all.map { Version(rival: $0.name, version: $0.version) }
        case .memory: []
        }
    }
}
