import Testing

@testable import HanekeNetwork

@Suite("Proxies of the environment")
struct ProxySettingsTests {
    @Test("N-088: loopback and exceptions go directly, the rest by scheme")
    func choice() throws {
        let settings = ProxySettings(environment: [
            "http_proxy": "http://p:3128", "HTTPS_PROXY": "https://sp", "no_proxy": "example.com, .corp",
        ])
        func proxy(_ url: String) throws -> String? { settings.proxy(for: try WebURL(url)) }
        #expect(try proxy("http://other/") == "http://p:3128")
        #expect(try proxy("https://other/") == "https://sp")
        #expect(try proxy("http://127.0.0.1:8080/") == nil)
        #expect(try proxy("http://localhost/") == nil)
        #expect(try proxy("http://example.com/") == nil)
        #expect(try proxy("http://a.example.com/") == nil)
        #expect(try proxy("http://notexample.com/") != nil)
        #expect(try proxy("http://x.corp/") == nil)
    }

    @Test("N-088: HTTP_PROXY in capitals is not trusted, ALL_PROXY is the fallback")
    func names() throws {
        let target = try WebURL("http://other/")
        #expect(ProxySettings(environment: ["HTTP_PROXY": "http://evil"]).proxy(for: target) == nil)
        #expect(ProxySettings(environment: ["ALL_PROXY": "socks5://p"]).proxy(for: target) == "socks5h://p")
        #expect(ProxySettings(environment: ["all_proxy": "http://p", "NO_PROXY": "*"]).proxy(for: target) == nil)
    }

    @Test("N-102: the name to look up is the proxy's")
    func lookup() {
        func place(_ proxy: String) -> String? {
            ProxySettings.hostToLookUp(of: proxy).map { "\($0.host):\($0.port)" }
        }
        #expect(place("http://proxy.corp:3128") == "proxy.corp:3128")
        #expect(place("proxy.corp:80") == "proxy.corp:80")
        #expect(place("http://u:80@proxy.corp") == "proxy.corp:1080")
        #expect(place("https://proxy.corp/") == "proxy.corp:443")
        #expect(place("http://10.0.0.1:3128") == nil)
        #expect(place("http://localhost:3128") == nil)
    }
}
