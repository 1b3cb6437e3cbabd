import Foundation

/// The system's last complaint, in words.
func systemErrorText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

/// Repeats a system call that a signal interrupted.
func retrying<Result: SignedNumeric>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
