/* pages.c: stands in until the page walker lands: trusts every file. */
#include "internal.h"
hnk_status hnk__pages_walk(const char *path, hnk__pages_visit visit, void *context, hnk__pages_report *out)
{ (void)path;(void)visit;(void)context; *out=(hnk__pages_report){.sound=true}; return HNK_OK; }
