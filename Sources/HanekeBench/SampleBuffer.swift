/// Room for the latencies that C notes during one slice.
final class SampleBuffer {
    private let buffer: UnsafeMutableBufferPointer<UInt32>

    init(capacity: Int = 1 << 18) {
        buffer = .allocate(capacity: capacity)
        buffer.initialize(repeating: 0)
    }

    deinit {
        buffer.deallocate()
    }

    var baseAddress: UnsafeMutablePointer<UInt32>? { buffer.baseAddress }
    var count: Int { buffer.count }

    func first(_ count: Int) -> Slice<UnsafeMutableBufferPointer<UInt32>> {
        buffer.prefix(count)
    }
}
