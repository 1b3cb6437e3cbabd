// Which proxy a request goes through, by the environment variables that libcurl and most other programs read. We choose
// it ourselves, because the name to look up is then the proxy's.
import Foundation

struct ProxySettings: Sendable, Equatable {
    private let http: String?
    private let https: String?
    private let exceptions: [String]

    /// `http_proxy` counts in lower case only: in capitals it could come from a CGI client's `Proxy:` header.
    init(environment: [String: String]) {
        func value(_ names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        let all = value("all_proxy", "ALL_PROXY")
        http = value("http_proxy") ?? all
        https = value("https_proxy", "HTTPS_PROXY") ?? all
        exceptions = (value("no_proxy", "NO_PROXY") ?? "")
            .split { $0 == "," || $0 == " " }
            .map { ($0.hasPrefix(".") ? $0.dropFirst() : $0).lowercased() }
    }

    /// The proxy's URL, or nil to connect directly.
    ///
    /// Loopback is never reached through a proxy.
    func proxy(for target: WebURL) -> String? {
        guard !target.isLoopback, !isException(target.host) else { return nil }
        guard let proxy = target.isSecure ? https : http else { return nil }
        // Let the proxy look up the target's name: libcurl would do it on the loop's thread.
        if proxy.hasPrefix("socks5://") { return "socks5h://" + proxy.dropFirst(9) }
        if proxy.hasPrefix("socks4://") { return "socks4a://" + proxy.dropFirst(9) }
        return proxy
    }

    /// The name and port of a proxy, if its name has to be looked up.
    static func hostToLookUp(of proxy: String) -> (host: String, port: Int)? {
        let parts = proxy.components(separatedBy: "://")
        // A URL that says no port gets one by its scheme, so two schemes show whether it says one.
        guard parts.count <= 2, let address = parts.last, let plain = try? WebURL("http://\(address)"),
            let secure = try? WebURL("https://\(address)"), plain.needsLookup
        else { return nil }
        guard plain.port != secure.port else { return (plain.host, plain.port) }
        // libcurl's ports for a proxy without one.
        return (plain.host, parts[0].isSameToken(as: "https") ? 443 : 1080)
    }

    private func isException(_ host: String) -> Bool {
        exceptions.contains { $0 == "*" || host == $0 || host.hasSuffix("." + $0) }
    }
}
