/* Prints what getopt gives, with a barrier between any two calls. */
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>

static int flagged;

int main(int argc, char **argv) {
  const struct option names[] = {{"verbose", no_argument, NULL, 'v'},
                                 {"version", no_argument, NULL, 'V'},
                                 {"size", required_argument, NULL, 's'},
                                 {"level", optional_argument, NULL, 'l'},
                                 {"flag", no_argument, &flagged, 9},
                                 {NULL, 0, NULL, 0}};
  int code, index;
  MPI_Init(&argc, &argv);
  for (;;) {
    index = -1;
    code = getopt_long(argc, argv, argc > 1 && argv[1][0] == ':' ? ":vVs:l::" : "vVs:l::", names,
                       &index);
    printf("%d(%c) index %d arg %s optind %d optopt %d flag %d\n", code, code > 31 ? code : ' ',
           index, optarg ? optarg : "-", optind, optopt, flagged);
    MPI_Barrier(MPI_COMM_WORLD);
    if (code == -1) break;
  }
  for (int i = 0; i < argc; ++i) printf("[%s]", argv[i]);
  puts("");
  optind = 1; /* once more, with the short form */
  opterr = 0;
  while ((code = getopt(argc, argv, "s:v")) != -1) printf("%d %s %d\n", code, optarg ? optarg : "-", optind);
  MPI_Finalize();
  return 0;
}
