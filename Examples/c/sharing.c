/* sharing.c: two processes, one store, no server. One counts upwards in it while the other watches.
 *
 *     sharing DIRECTORY          counts, and starts itself again as
 *     sharing DIRECTORY watch    the one that watches
 */
#define _POSIX_C_SOURCE 200809L
#include <haneke.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAST = 1000, PATIENCE_S = 60 };

static hnk_status put(hnk_bucket *bucket, hnk_bytes key, uint32_t number)
{
    return hnk_bucket_set(bucket, key, (hnk_bytes){ &number, sizeof number }, NULL);
}

static hnk_status look(hnk_bucket *bucket, hnk_bytes key, uint32_t *out_number)
{
    size_t size = 0;
    return hnk_bucket_read(bucket, key, 0, out_number, sizeof *out_number, &size);
}

/* Looks until `number` is answered. */
static hnk_status wait_for_answer(hnk_bucket *bucket, uint32_t number)
{
    time_t end = time(NULL) + PATIENCE_S;
    uint32_t answer = 0;
    hnk_status status;

    while ((status = look(bucket, HNK_TEXT("answer"), &answer)) >= 0 && time(NULL) <= end) {
        if (status == HNK_OK && answer == number)
            return HNK_OK;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return status < 0 ? status : HNK_NOT_FOUND;
}

/* Puts one number after the other as soon as somebody watches. */
static hnk_status count(hnk_bucket *bucket)
{
    hnk_status status = wait_for_answer(bucket, 0);

    for (uint32_t number = 1; status == HNK_OK && number <= LAST; number++)
        status = put(bucket, HNK_TEXT("number"), number);
    if (status == HNK_OK && (status = wait_for_answer(bucket, LAST)) == HNK_OK)
        printf("process %ld put %d numbers and saw the answer to the last one\n", (long)getpid(), LAST);
    return status;
}

/* Reads as often as it can, for no writer delays it, and answers the first number and the last. */
static hnk_status watch(hnk_bucket *bucket)
{
    time_t end = time(NULL) + PATIENCE_S;
    uint32_t number = 0, newest = 0, reads = 0, news = 0;
    hnk_status status = put(bucket, HNK_TEXT("answer"), 0);

    for (; status == HNK_OK && newest != LAST; reads++) {
        status = time(NULL) > end ? HNK_NOT_FOUND : look(bucket, HNK_TEXT("number"), &number);
        if (status == HNK_OK && number < newest)
            status = HNK_ERROR_INTERNAL; /* never: what was put later is read later */
        if (status == HNK_OK && number > newest) {
            newest = number;
            news++;
        }
    }
    if (status == HNK_OK && (status = put(bucket, HNK_TEXT("answer"), newest)) == HNK_OK)
        printf("process %ld read %" PRIu32 " times and saw %" PRIu32 " of the numbers, in order\n",
               (long)getpid(), reads, news);
    return status;
}

/* Starts the watcher. It opens the store for itself: handles do not outlive fork(), and descriptors not exec. */
static pid_t start_watcher(char *program, char *directory)
{
    pid_t child = fork();

    if (child == 0) {
        execvp(program, (char *[]){ program, directory, "watch", NULL });
        _exit(127);
    }
    return child;
}

int main(int argc, char **argv)
{
    int watches = argc == 3 && strcmp(argv[2], "watch") == 0, result = 0;
    hnk_error error = { HNK_OK, 0, "" };
    hnk_store *store = NULL;
    hnk_bucket *bucket = NULL;
    hnk_status status;
    pid_t watcher = -1;

    if (argc != 2 && !watches) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    if ((status = hnk_store_open(argv[1], NULL, &store, &error)) == HNK_OK &&
        (status = hnk_bucket_open(store, HNK_TEXT("shared"), NULL, &bucket, &error)) == HNK_OK) {
        if (watches) {
            status = watch(bucket);
        } else if ((status = hnk_bucket_remove_all(bucket)) == HNK_OK && /* what an earlier run has left */
                   (status = put(bucket, HNK_TEXT("number"), 0)) == HNK_OK) {
            watcher = start_watcher(argv[0], argv[1]);
            status = watcher < 0 ? HNK_ERROR_IO : count(bucket);
        }
    }
    if (watcher > 0 && (waitpid(watcher, &result, 0) != watcher || result != 0))
        fprintf(stderr, "%s: the watcher failed\n", argv[0]);
    if (status != HNK_OK)
        fprintf(stderr, "%s: %s\n", argv[0], error.status == status ? error.message : hnk_status_text(status));
    hnk_bucket_close(bucket);
    hnk_store_close(store);
    return status == HNK_OK && result == 0 ? 0 : 1;
}
