/* options.c: structs that grow from version to version. */
#include "internal.h"

#include <string.h>

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

bool hnk__options_resolve(void *resolved, size_t size, size_t size_v1, const void *given)
{
    uint32_t given_size;
    if (given == NULL)
        return true;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < size_v1)
        return false;
    /* A newer caller set a field that this build has never heard of: refuse rather than half-obey. */
    if (given_size > size && !is_zero((const unsigned char *)given + size, given_size - size))
        return false;
    memcpy(resolved, given, given_size < size ? given_size : size);
    given_size = (uint32_t)size; /* what is resolved is ours, and may be handed on */
    memcpy(resolved, &given_size, sizeof given_size);
    return true;
}

void hnk__options_give(void *out, const void *filled, size_t size)
{
    uint32_t room;
    memcpy(&room, out, sizeof room);
    if (room < sizeof room)
        return;
    memcpy((unsigned char *)out + sizeof room, (const unsigned char *)filled + sizeof room,
           (room < size ? room : size) - sizeof room);
}
