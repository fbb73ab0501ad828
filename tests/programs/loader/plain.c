/* No MPI at all; with LOCAL_VARIABLE, a thread-local variable of the program's own. */
#include <stdio.h>

#ifdef LOCAL_VARIABLE
static __thread int local = 3;
#else
static int local = 3;
#endif

int main(void) { return printf("%d\n", local++) < 0; }
