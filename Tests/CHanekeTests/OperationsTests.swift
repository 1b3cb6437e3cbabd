import CHaneke
import TestSupport
import Testing

@Suite struct OperationsTests {
    @Test("steps of several buckets are carried out in order, each with its own status")
    func several() throws {
        let fixture = try Fixture()
        let one = fixture.bucket
        let two = try fixture.store.bucket("two") {
            $0.fields = HNK_FIELD_CAPACITY
            $0.capacity_bytes = 2_000
        }
        let (status, each) = fixture.store.apply([
            .set("a", "1", in: one), .set("a", "2", in: two), .remove("none", in: one), .set("", "3", in: one),
            Step(bucket: two, kind: .set, key: [1], value: sample(5_000)),
            Step(bucket: one, kind: .set, key: [2], value: [3], metadata: sample(65_537)),
            .set("a", "4", in: one), .set("b", "5", in: one), .remove("b", in: one), .remove("", in: two),
        ])
        #expect(status == .ok)
        #expect(
            each == [.ok, .ok, .notFound, .keySize, .valueTooLarge, .metadataSize, .ok, .ok, .ok, .keySize])
        #expect(one.get("a") == .text("4") && two.get("a") == .text("2") && one.get("b") == .status(.notFound))
        #expect(one.statistics().writes == 3 && two.statistics().refused == 1)
        fixture.store.expectSound()
    }

    @Test("a form that this version does not know fails the whole, and nothing is changed")
    func allOrNothing() throws {
        let fixture = try Fixture()
        let elsewhere = try Fixture()
        #expect(fixture.bucket.set("a", "old") == .ok)
        let good: [Step] = [.set("a", "new", in: fixture.bucket), .set("b", "new", in: fixture.bucket)]
        let kinds = [hnk_operation_kind(rawValue: 0), hnk_operation_kind(rawValue: 4)].compactMap(\.self)
        var bad: [Step] = kinds.map { Step(bucket: fixture.bucket, kind: $0, key: [1]) }
        bad.append(Step(bucket: fixture.bucket, kind: .set, key: [1], flags: 2))
        bad.append(.set("a", "x", in: elsewhere.bucket))
        #expect(bad.count == 4)
        for step in bad { #expect(fixture.store.apply(good + [step]).status == .argument) }
        #expect(fixture.bucket.get("a") == .text("old") && fixture.bucket.get("b") == .status(.notFound))
        #expect(fixture.bucket.statistics().writes == 1)
    }

    @Test("removing all in a batch spares what is set after it, blobs too")
    func removeAllInside() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set("old", sample(3_000)) == .ok)
        let (status, each) = fixture.store.apply([
            Step(bucket: fixture.bucket, kind: .set, key: [1], value: sample(2_000)),
            .set("x", "1", in: fixture.bucket),
            .removeAll(in: fixture.bucket), .set("x", "2", in: fixture.bucket),
            Step(bucket: fixture.bucket, kind: .set, key: [1], value: sample(4_000)),
        ])
        #expect(status == .ok && each.allSatisfy { $0 == .ok })
        #expect(fixture.bucket.keys() == [[1], Array("x".utf8)])
        #expect(fixture.bucket.get("x") == .text("2") && fixture.bucket.get([1]) == .value(sample(4_000)))
        #expect(Files.blobs(in: fixture.directory.path).count == 1)
        fixture.store.expectSound()
    }

    @Test("the same key twice: the last one stays, and so does one blob")
    func twice() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        let (status, _) = fixture.store.apply(
            (1...5).map { Step(bucket: fixture.bucket, kind: .set, key: [1], value: sample($0 * 1_500)) })
        #expect(status == .ok && fixture.bucket.get([1]) == .value(sample(7_500)))
        #expect(Files.blobs(in: fixture.directory.path).count == 1)
        #expect(fixture.bucket.statistics().entries == 1 && fixture.bucket.statistics().writes == 5)
        fixture.store.expectSound()
    }

    @Test("a step of a dropped bucket is answered, the others go on")
    func dropped() throws {
        let fixture = try Fixture()
        let other = try fixture.store.bucket("other")
        #expect(fixture.store.drop("other") == .ok)
        let (status, each) = fixture.store.apply([
            .set("a", "1", in: other), .set("a", "1", in: fixture.bucket), .removeAll(in: other),
        ])
        #expect(status == .ok && each == [.notFound, .ok, .notFound])
        #expect(fixture.bucket.get("a") == .text("1"))
    }

    @Test("ten thousand steps are one commit: limits hold at its end")
    func many() throws {
        let fixture = try Fixture(entriesMax: 100)
        try fixture.store.setAll((0..<10_000).map { ([UInt8($0 >> 8), UInt8($0 & 0xFF)], [1]) }, in: fixture.bucket)
        let counted = fixture.bucket.statistics()
        #expect(counted.entries == 100 && counted.writes == 10_000 && counted.evictions == 9_900)
        fixture.store.expectSound()
    }

    @Test("no step at all is fine")
    func none() throws {
        let fixture = try Fixture()
        #expect(hnk_store_apply(fixture.store.raw, [hnk_operation](), 0, nil, nil) == .ok)
    }

    @Test("removing answers whether the key was there")
    func remove() throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.remove("a") == .notFound)
        #expect(fixture.bucket.set("a", "1") == .ok)
        #expect(fixture.bucket.remove("a") == .ok && fixture.bucket.remove("a") == .notFound)
        #expect(fixture.bucket.removeAll() == .ok)
        fixture.store.expectSound()
    }

    @Test("a write that changes nothing does not make the next one doubt the bucket's slots")
    func nothing() throws {
        let fixture = try Fixture(capacity: 10_000)
        #expect(fixture.bucket.set("a", "1") == .ok)
        let before = try RawSlots(fixture.directory.path).incarnation
        for number in 0..<3 {
            #expect(fixture.bucket.remove("none") == .notFound)
            #expect(fixture.bucket.set("large", sample(20_000)) == .valueTooLarge)
            #expect(fixture.bucket.configure { $0.fields = 0 } == .ok)
            #expect(fixture.bucket.set("k\(number)", "1") == .ok)
        }
        #expect(try RawSlots(fixture.directory.path).incarnation == before)
        fixture.store.expectSound()
    }
}
