#include "sweeps.h"
void sweep_foreign(const char *root, usage *usage){(void)root;(void)usage;}
