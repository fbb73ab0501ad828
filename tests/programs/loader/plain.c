/* No MPI at all. */
#include <stdio.h>

static int local = 3;

int main(void) { return printf("%d\n", local++) < 0; }
