// Only in builds for the thread sanitizer (`scripts/test --sanitize`): stands in front of Synchronization's `Mutex`, whose
// futex the sanitizer does not see, so that every guarded access looks like a race to it. Same interface, a pthread lock.
// Each module that uses `Mutex` has a link to this file.
#if HANEKE_THREAD_SANITIZER
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    @usableFromInline
    struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        // Sendable: the value is reached only with the lock held.
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        @usableFromInline
        init(_ initialValue: consuming sending Value) {
            lock = .allocate(capacity: 1)
            pthread_mutex_init(lock, nil)
            value = .allocate(capacity: 1)
            value.initialize(to: initialValue)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }

        @usableFromInline
        borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return try body(&value.pointee)
        }

        @usableFromInline
        borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result? {
            guard pthread_mutex_trylock(lock) == 0 else { return nil }
            defer { pthread_mutex_unlock(lock) }
            return try body(&value.pointee)
        }
    }
#endif
