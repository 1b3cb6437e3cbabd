/* pages_free.c: the rows of LMDB's free tree, each the pages that one transaction freed. */
#include "pages.h"

void hnk__walk_free_row(hnk__walk *walk, uint64_t page, hnk_bytes key, hnk_bytes data)
{
    const uint8_t *numbers = data.data;
    uint64_t count, above = HNK_LMDB_NONE;
    uint64_t txn;

    assert(key.size == sizeof txn); /* hnk__tree_page_holds() has seen to it */
    txn = hnk__load_64(key.data);
    if (txn == 0 || txn > walk->meta.txn) {
        (void)hnk__walk_fault(walk, "page %llu: free pages of transaction %llu, but the last one is %llu",
            (unsigned long long)page, (unsigned long long)txn, (unsigned long long)walk->meta.txn);
        return;
    }
    /* A record may be longer than its list: LMDB reserves room and then needs less. */
    if (data.size < sizeof count || data.size % sizeof count != 0 ||
        (count = hnk__load_64(numbers)) > data.size / sizeof count - 1) {
        (void)hnk__walk_fault(walk, "page %llu: the free pages of transaction %llu have a wrong length",
            (unsigned long long)page, (unsigned long long)txn);
        return;
    }
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = hnk__load_64(numbers + i * sizeof number);

        if (number >= above || !hnk__walk_claim(walk, number, 1)) {
            (void)hnk__walk_fault(walk,
                "page %llu: page %llu is in the list of free pages, but is used, there twice or out of order",
                (unsigned long long)page, (unsigned long long)number);
            return;
        }
        above = number;
    }
    walk->free += count;
}
