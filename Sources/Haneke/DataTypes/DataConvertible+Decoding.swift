internal import Foundation

extension DataConvertible {
    /// Converts, and makes one kind of error of both ways of saying no.
    static func decoded(
        from data: Data, code: HanekeError.Code, _ description: @autoclosure () -> String
    ) throws(HanekeError) -> Self {
        do {
            if let value = try convertFromData(data) { return value }
        } catch {
            throw HanekeError(code, "\(description()): \(error)", underlyingError: error)
        }
        throw HanekeError(code, description())
    }
}
