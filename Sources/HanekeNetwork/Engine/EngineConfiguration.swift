/// What an engine works with.
public struct EngineConfiguration: Sendable {
    /// Sends and receives.
    ///
    /// Default: the platform's shared transport.
    public var transport: any Transport = NetworkClient.platformTransport
    /// Grants slots.
    ///
    /// Default: the queue of the process.
    public var queue = NetworkQueue.shared
    /// Keeps responses; nil, the default, for none.
    public var cache: HTTPCache?
    /// When failed attempts are repeated.
    public var retries = RetryPolicy()
    /// Most operations of this engine at a time to one origin; nil, the default, for the width of the path.
    public var originLimit: Int?
    /// Whether operations wait while the path is a mobile or expensive one.
    ///
    /// Default false.
    public var wifiOnlyMode = false
    /// The time.
    public var clock: any NetworkClock = SystemNetworkClock()
    /// Gives the random share, 0…1, of a pause before a repetition.
    public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// The defaults.
    public init() {}
}
