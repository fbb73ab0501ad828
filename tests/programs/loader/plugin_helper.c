/* A library that a plug-in needs. */
static int sum;
int helper_add(int by) { return sum += by; }
