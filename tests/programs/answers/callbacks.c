/* Functions that the program gives to MPI: attributes' copy and delete functions, error handlers,
   and error classes of its own. Prints when they are called and with what. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int me, ranks, handled;

static int copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)keyval;
  int result;
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  printf("%d copy %d of %s, extra %d\n", me, *(int*)in, result == MPI_IDENT ? "the world" : "another",
         *(int*)extra);
  *(void**)out = (int*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_function(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  (void)keyval;
  printf("%d delete %d, extra %d\n", me, *(int*)value, *(int*)extra);
  return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  (void)keyval;
  (void)value;
  (void)extra;
  return MPI_ERR_OTHER;
}

static int extra = 5;
static int values[] = {10, 11, 12, 13};

static void attributes(void) {
  int keyval, flag, *found;
  MPI_Comm duplicate;
  MPI_Comm_create_keyval(copy, delete_function, &keyval, &extra);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &values[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_get_attr(duplicate, keyval, &found, &flag);
  printf("%d found %d: %d\n", me, flag, *found);
  MPI_Comm_set_attr(duplicate, keyval, &values[3]);
  MPI_Comm_free(&duplicate);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &found, &flag);
  printf("%d found %d\n", me, flag);
  MPI_Comm_free_keyval(&keyval);
  printf("%d keyval is %s\n", me, keyval == MPI_KEYVAL_INVALID ? "invalid" : "valid");

  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &values[2]);
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_get_attr(duplicate, keyval, &found, &flag);
  printf("%d duplicated %d: %d\n", me, flag, *found);
  MPI_Comm_free(&duplicate);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag);
  printf("%d tags: %d\n", me, flag && *found >= 32767);
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  int error_class, size;
  MPI_Error_class(*code, &error_class);
  MPI_Comm_size(*comm, &size);
  printf("%d handler: class %d, %d ranks\n", me, error_class == MPI_ERR_RANK, size);
  ++handled;
}

static void error_handlers(void) {
  MPI_Errhandler handler, now;
  MPI_Comm part;
  int error, keyval;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_split(MPI_COMM_WORLD, me == 0, 0, &part);
  /* What is returned after that differs: an error in MPICH 4, success in MPICH 5. */
  MPI_Send(&me, 1, MPI_INT, 1000, 0, part);
  printf("%d handled %d\n", me, handled);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK);
  MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
  MPI_Comm_get_errhandler(part, &now);
  printf("%d returns: %d\n", me, now == MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &keyval, NULL);
  MPI_Comm_set_attr(part, keyval, NULL);
  /* MPICH calls the handler of the world here, the standard names that of the communicator. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  error = MPI_Comm_free(&part);
  printf("%d freeing failed: %d\n", me, error != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void own_errors(void) {
  int error_class, code, found, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(code, "the dog ate it");
  MPI_Error_class(code, &found);
  MPI_Error_string(code, text, &length);
  printf("%d %d '%s' %d\n", me, found == error_class, text, length);
}

static void infos(void) {
  MPI_Info info, second;
  char key[MPI_MAX_INFO_KEY + 1], value[32];
  int keys, flag, length = 4;
  MPI_Info_create(&info);
  MPI_Info_set(info, "b", "first");
  MPI_Info_set(info, "a", "second");
  MPI_Info_set(info, "b", "third");
  MPI_Info_dup(info, &second);
  MPI_Info_delete(info, "b");
  MPI_Info_get_nkeys(second, &keys);
  for (int i = 0; i < keys; ++i) {
    MPI_Info_get_nthkey(second, i, key);
#if MPI_VERSION >= 4
    MPI_Info_get_string(second, key, &length, value, &flag);
#else
    MPI_Info_get(second, key, length, value, &flag);
#endif
    printf("%d info %s = '%s' (%d)\n", me, key, value, length);
    length = 4;
  }
  MPI_Info_get_nkeys(info, &keys);
  printf("%d keys left: %d\n", me, keys);
  MPI_Info_free(&info);
  MPI_Info_free(&second);
}

static int at_end(MPI_Comm comm, int keyval, void* value, void* state) {
  int finalized;
  (void)comm;
  (void)keyval;
  (void)state;
  MPI_Finalized(&finalized);
  printf("%d at the end: %d, finalized %d\n", me, *(int*)value, finalized);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  /* Lines of ranks must not mix under mpiexec, and MPI_Init has turned buffering off. */
  static char lines[1 << 16];
  setvbuf(stdout, lines, _IOFBF, sizeof lines);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  attributes();
  error_handlers();
  own_errors();
  infos();
  for (int i = 0; i < 3; ++i) {
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &values[i]);
    MPI_Comm_free_keyval(&keyval);
  }
  MPI_Finalize();
  return 0;
}
