/* marker.h: the file "state" of docs/DISK_FORMAT.md. */
#ifndef DAMAGED_MARKER_H
#define DAMAGED_MARKER_H

#include "directory.h"

/* Marks the store as one that was open when the system went down, under another boot than this. `state` is its marker
 * as it was. */
void marker_crash(const char *directory, const kept_file *state);

#endif
