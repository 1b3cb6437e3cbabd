#include "haneke.h"
typedef int hnk__placeholder;
