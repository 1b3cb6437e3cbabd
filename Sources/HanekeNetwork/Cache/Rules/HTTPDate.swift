import Foundation

/// The three date formats of HTTP (RFC 9110, 5.6.7), read and written without a formatter.
enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let days = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"]
    private static let longDays = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"]

    /// Nil for everything that is not exactly one of the three; names in any case, the zone GMT only.
    ///
    /// `now` tells the century of a year of two digits: one more than 50 years ahead is in the past.
    static func parse(_ text: String, now: Date) -> Date? {
        let words = text.lowercased().split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch words.count {
        case 6 where words[0].hasSuffix(","):
            // Sun, 06 Nov 1994 08:49:37 GMT
            guard days.contains(String(words[0].dropLast())), words[5] == "gmt",
                let day = number(words[1], digits: 2), let year = number(words[3], digits: 4)
            else { return nil }
            return date(year, words[2], day, words[4])
        case 4 where words[0].hasSuffix(","):
            // Sunday, 06-Nov-94 08:49:37 GMT
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard longDays.contains(String(words[0].dropLast())), words[3] == "gmt", parts.count == 3,
                let day = number(parts[0], digits: 2), let short = number(parts[2], digits: 2)
            else { return nil }
            let thisYear = year(of: now)
            var year = thisYear / 100 * 100 + short
            if year > thisYear + 50 { year -= 100 }
            return date(year, parts[1], day, words[2])
        case 5, 6:
            // Sun Nov  6 08:49:37 1994; a day of one digit has two spaces before it
            let parts = words.filter { !$0.isEmpty }
            guard parts.count == 5, days.contains(parts[0]), let year = number(parts[4], digits: 4),
                let day = number(parts[2], digits: words.count == 6 ? 1 : 2), words.count == 5 || words[2].isEmpty
            else { return nil }
            return date(year, parts[1], day, parts[3])
        default:
            return nil
        }
    }

    /// "Sun, 06 Nov 1994 08:49:37 GMT".
    static func format(_ date: Date) -> String {
        let seconds = Int64(date.timeIntervalSince1970.rounded(.down))
        let day = floorDivide(seconds, 86_400)
        let (year, month, dayOfMonth) = civil(day)
        let second = seconds - day * 86_400
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let name = days[Int(((day % 7) + 7) % 7)].capitalized
        let years = String(repeating: "0", count: max(0, 4 - "\(year)".count)) + "\(year)"
        return "\(name), \(two(dayOfMonth)) \(months[Int(month) - 1].capitalized) \(years) "
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    private static func date(_ year: Int, _ monthName: String, _ day: Int, _ time: String) -> Date? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let month = months.firstIndex(of: monthName).map({ $0 + 1 }), parts.count == 3,
            let hour = number(parts[0], digits: 2), let minute = number(parts[1], digits: 2),
            let second = number(parts[2], digits: 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = dayNumber(Int64(year), Int64(month), Int64(day))
        // A day that the month doesn't have comes back as another one.
        guard civil(days) == (Int64(year), Int64(month), Int64(day)) else { return nil }
        return Date(timeIntervalSince1970: Double(days * 86_400 + Int64(hour * 3600 + minute * 60 + second)))
    }

    private static func year(of date: Date) -> Int {
        Int(civil(floorDivide(Int64(date.timeIntervalSince1970), 86_400)).year)
    }

    // MARK: The calendar, counted in years that begin in March, so that the leap day is the last

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    /// Days since 1970-01-01.
    private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let years = month > 2 ? year : year - 1
        let monthsSinceMarch = (month + 9) % 12
        let leapDays = floorDivide(years, 4) - floorDivide(years, 100) + floorDivide(years, 400)
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        return years * 365 + leapDays + (monthsSinceMarch * 153 + 2) / 5 + day - 1 - 719_468
    }

    private static func civil(_ dayNumber: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // 146,097 days make 400 years.
        let era = floorDivide(dayNumber + 719_468, 146_097)
        let dayOfEra = dayNumber + 719_468 - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100)
        let monthsSinceMarch = (dayOfYear * 5 + 2) / 153
        let month = monthsSinceMarch < 10 ? monthsSinceMarch + 3 : monthsSinceMarch - 9
        let day = dayOfYear - (monthsSinceMarch * 153 + 2) / 5 + 1
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }
}
