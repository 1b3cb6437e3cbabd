import Foundation
import TestSupport
import Testing

/// tree, through the built tool.
@Suite("Tree of segments")
struct HoardTreeTests {
    @Test("tree puts, gets, lists, names children and removes a subtree")
    func round() throws {
        let store = try StoreUnderTest()
        for key in ["users/1", "users/1/a", "users/12"] {
            #expect(try store.haneke("tree", "put", key, input: Data(key.utf8)).status == 0)
        }
        #expect(try store.haneke("tree", "get", "/users/1/").text == "users/1")
        #expect(try store.haneke("tree", "ls").text == "users/1\nusers/1/a\nusers/12\n")
        #expect(try store.haneke("tree", "children", "users").text == "1\n12\n")
        #expect(try store.haneke("tree", "rm", "users/1", "--json").json()["removed"] as? Int == 2)
        #expect(try store.haneke("tree", "rm", "users/1").status == 1)
        #expect(try store.haneke("tree", "get", "users/1").status == 1)
        #expect(try store.haneke("tree", "ls", "users").text == "users/12\n")
    }

    @Test("tree refuses what makes no sense, and a question makes no store")
    func refused() throws {
        let store = try StoreUnderTest()
        for line in [["frob"], ["get"], ["get", "//"], ["ls", "a", "b"]] {
            #expect(try ToolRun(["--store", store.store, "tree"] + line, input: Data()).status == 2)
        }
        #expect(try store.haneke("tree", "get", "a").status == 1)
        #expect(try store.haneke("tree", "put", "a", "--ttl", "0", input: Data("x".utf8)).status == 0)
        #expect(try store.haneke("tree", "get", "a").status == 1)
    }
}
