/* Thread-local variables of a library; compiled for fixed distances and for descriptors. */
__thread int library_shown = 300;
static __thread int initial __attribute__((tls_model("initial-exec"))) = 100;
static __thread int descriptor = 200;

int* library_initial(void) { return &initial; }
int* library_descriptor(void) { return &descriptor; }
