/* foreign.c: directories, pipes, links and other programs' files where a store has its own. */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "marker.h"
#include "sweeps.h"
#include "trial.h"

enum { PATH_BYTES = 512, KEYS = 20, VERSION_AFTER = 9 };

typedef enum thing {
    THING_FOLDER,
    THING_FULL_FOLDER,
    THING_TEXT,
    THING_EMPTY,
    THING_LMDB,         /* of another program, rows in the unnamed database */
    THING_NAMED_LMDB,   /* likewise, in a named one */
    THING_PIPE,
    THING_LINK,         /* to somebody's text */
    THING_DANGLING,
    THING_LOOP,         /* a link to itself */
    THING_ENDLESS,      /* a link to /dev/zero */
    THING_MOVED,        /* a link to what was there */
    THINGS
} thing;

static const char *const thing_names[THINGS] = {
    "a folder", "a folder with a file", "a text", "an empty file", "another program's LMDB file",
    "another program's named database", "a pipe", "a link to a text", "a dangling link", "a link to itself",
    "a link to /dev/zero", "a link to what was there",
};

static const char text[] = "Somebody's text, of more than a few bytes, which nobody here may change.\n";

typedef struct scene {
    char path[PATH_BYTES];   /* of the store */
    char beside[PATH_BYTES]; /* what links point to */
    model model;
    kept_directory whole;
    uint8_t *lmdb[2];
    size_t lmdb_size[2];
} scene;

static const char *join(const char *folder, const char *name)
{
    static char paths[2][2 * PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % 2];
    MUST(snprintf(path, sizeof paths[0], "%s/%s", folder, name) < (int)sizeof paths[0]);
    return path;
}

/* A file that another program has made with LMDB. */
static void other_program(scene *scene, const char *database, size_t index)
{
    enum { ROWS = 100 };
    kept_directory made;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi rows;

    directory_empty(scene->beside);
    MUST(mdb_env_create(&env) == 0 && mdb_env_set_maxdbs(env, 2) == 0);
    MUST(mdb_env_open(env, scene->beside, MDB_NOSYNC, 0600) == 0 && mdb_txn_begin(env, NULL, 0, &txn) == 0);
    MUST(mdb_dbi_open(txn, database, database != NULL ? MDB_CREATE : 0, &rows) == 0);
    for (unsigned i = 0; i < ROWS; i++) {
        char name[16], value[] = "a value of theirs";
        int size = snprintf(name, sizeof name, "theirs %u", i);
        MDB_val key = { (size_t)size, name }, row = { sizeof value, value };
        MUST(mdb_put(txn, rows, &key, &row, 0) == 0);
    }
    MUST(mdb_txn_commit(txn) == 0);
    mdb_env_close(env);
    directory_read(&made, scene->beside, 0);
    MUST(made.count == 1);
    scene->lmdb[index] = made.files[0].bytes;
    scene->lmdb_size[index] = made.files[0].size;
    free(made.files);
}

/* Takes away what has the name, and puts the thing there. */
static void put_thing(scene *scene, const char *name, thing thing)
{
    const char *path = join(scene->path, name), *target;

    directory_empty(scene->beside);
    file_put(scene->beside, "text", text, sizeof text);
    if (thing == THING_MOVED) {
        target = join(scene->beside, "moved");
        MUST(rename(path, target) == 0 && symlink(target, path) == 0);
        return;
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        directory_empty(path);
        MUST(rmdir(path) == 0);
    }
    switch (thing) {
    case THING_FOLDER: MUST(mkdir(path, 0700) == 0); break;
    case THING_FULL_FOLDER:
        MUST(mkdir(path, 0700) == 0);
        file_put(path, "file", text, sizeof text);
        break;
    case THING_TEXT: file_put(scene->path, name, text, sizeof text); break;
    case THING_EMPTY: file_put(scene->path, name, text, 0); break;
    case THING_LMDB:
    case THING_NAMED_LMDB: {
        size_t index = thing == THING_LMDB ? 0 : 1;
        file_put(scene->path, name, scene->lmdb[index], scene->lmdb_size[index]);
        break;
    }
    case THING_PIPE: MUST(mkfifo(path, 0600) == 0); break;
    case THING_LINK:
        target = join(scene->beside, "text");
        MUST(symlink(target, path) == 0);
        break;
    case THING_DANGLING:
        target = join(scene->beside, "nothing");
        MUST(symlink(target, path) == 0);
        break;
    case THING_LOOP: MUST(symlink(path, path) == 0); break;
    default: MUST(symlink("/dev/zero", path) == 0); break;
    }
}

/* Whatever opens is used; any status will do, but no value of nobody's. */
static void use_bucket(scene *scene, hnk_bucket *handle, unsigned bucket, bool first, usage *usage)
{
    for (unsigned number = 0; number < scene->model.keys; number++) {
        hnk_lease *lease = NULL;
        hnk_status status = hnk_bucket_get(handle, model_key(number), 0, &lease);
        unsigned version = status == HNK_OK ? model_version_of(bucket, number, hnk_lease_value(lease)) : 0;
        if (status == HNK_OK && version != scene->model.now[bucket][number] && (first || version != VERSION_AFTER))
            trial_failed("key %u of bucket %u: a wrong value", number, bucket);
        usage->right += status == HNK_OK;
        usage->missed += status == HNK_NOT_FOUND;
        usage->damaged += status == HNK_DAMAGED;
        hnk_lease_release(lease);
    }
    for (unsigned number = 0; number < scene->model.keys; number++) {
        hnk_bytes value = model_value(bucket, number, VERSION_AFTER);
        hnk_lease *lease = NULL;
        hnk_status status = hnk_bucket_set(handle, model_key(number), value, NULL);
        if (status > HNK_OK)
            trial_failed("setting key %u of bucket %u: %s", number, bucket, hnk_status_name(status));
        if (status == HNK_OK &&
            (hnk_bucket_get(handle, model_key(number), 0, &lease) != HNK_OK ||
             model_version_of(bucket, number, hnk_lease_value(lease)) != VERSION_AFTER))
            trial_failed("key %u of bucket %u was set, but reads otherwise", number, bucket);
        hnk_lease_release(lease);
    }
}

static hnk_status use_scene(scene *scene, hnk_damage_policy policy, bool first, usage *usage)
{
    hnk_verification found = HNK_VERIFICATION_INIT;
    hnk_store *store = NULL;
    hnk_status status = model_open(scene->path, policy, &store);

    if (status != HNK_OK) {
        if (status > HNK_OK)
            trial_failed("the opening gave %s", hnk_status_name(status));
        usage->refused++;
        return status;
    }
    usage->opened++;
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        hnk_bucket *handle = NULL;
        hnk_bytes name = bucket == 0 ? HNK_TEXT("first") : HNK_TEXT("second");
        status = hnk_bucket_open(store, name, NULL, &handle, NULL);
        if (status == HNK_OK)
            use_bucket(scene, handle, bucket, first, usage);
        else if (status > HNK_OK || handle != NULL)
            trial_failed("opening bucket %u: %s", bucket, hnk_status_name(status));
        hnk_bucket_close(handle);
    }
    status = hnk_store_verify(store, NULL, NULL, NULL, &found);
    usage->verified_at_once += status == HNK_OK;
    hnk_store_close(store);
    return HNK_OK;
}

/* What is not ours stays as it was. */
static void check_text(const char *folder, const char *name)
{
    char found[sizeof text] = { 0 };
    struct stat stat;

    int file = open(join(folder, name), O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &stat) != 0 || stat.st_size != (off_t)sizeof text ||
        read(file, found, sizeof found) != (ssize_t)sizeof found || memcmp(found, text, sizeof text) != 0)
        trial_failed("somebody's text was changed");
    if (file >= 0)
        close(file);
}

static void try(scene *scene, const char *name, thing thing, size_t turn, const char *how, usage *usage)
{
    static const hnk_damage_policy policies[] = { HNK_DAMAGE_SALVAGE, HNK_DAMAGE_DISCARD, HNK_DAMAGE_REFUSE };
    hnk_damage_policy policy = policies[turn % (sizeof policies / sizeof *policies)];

    trial_begin("%s is %s, %s, policy %d", name, thing_names[thing], how, (int)policy);
    put_thing(scene, name, thing);
    use_scene(scene, policy, true, usage);
    check_text(scene->beside, "text");
    use_scene(scene, policy, false, usage); /* and once more, on what that has left */
    check_text(scene->beside, "text");
}

/* Every name in the store: its files, and the folders of values. */
static const char *name_at(const scene *scene, size_t index)
{
    static char folder[PATH_BYTES];

    if (index < scene->whole.count)
        return scene->whole.files[index].path;
    if (index == scene->whole.count)
        return "blobs";
    for (size_t i = 0; i < scene->whole.count; i++) {
        const char *path = scene->whole.files[i].path, *end = strrchr(path, '/');
        if (end != NULL) {
            snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
            return folder;
        }
    }
    return "blobs";
}

void sweep_foreign(const char *root, unsigned thing, usage *usage)
{
    static const char *const how[] = { "in a closed store", "after a crash", "and nothing else is there" };
    static scene scene;

    MUST(thing < THINGS);
    MUST(snprintf(scene.path, sizeof scene.path, "%s/store", root) < (int)sizeof scene.path);
    MUST(snprintf(scene.beside, sizeof scene.beside, "%s/beside", root) < (int)sizeof scene.beside);
    other_program(&scene, NULL, 0);
    other_program(&scene, "theirs", 1);
    directory_empty(scene.path);
    model_make(&scene.model, scene.path, KEYS, 2);
    directory_read(&scene.whole, scene.path, 1);
    const kept_file *state = directory_find(&scene.whole, "state");
    for (size_t index = 0; index <= scene.whole.count + 1; index++)
        for (unsigned where = 0; where < sizeof how / sizeof *how; where++) {
            const char *name = name_at(&scene, index);
            bool alone = where == 2;
            if (alone && (strchr(name, '/') != NULL || thing == THING_MOVED))
                continue;
            directory_empty(scene.path);
            if (!alone)
                directory_write(&scene.whole, scene.path);
            if (where == 1)
                marker_crash(scene.path, state);
            try(&scene, name, (enum thing)thing, index + where, how[where], usage);
        }
    free(scene.lmdb[0]);
    free(scene.lmdb[1]);
    directory_free(&scene.whole);
}
