/* What interface.F90 needs in C: handles that Fortran made, and one for Fortran. */
#include <mpi.h>

int seen_by_c(MPI_Fint comm, MPI_Fint datatype, MPI_Fint op, MPI_Fint request, MPI_Fint info,
              MPI_Fint group, MPI_Fint file, MPI_Fint* status) {
  int rank, ranks, size, keys, members, count;
  MPI_Status c_status;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_Comm_f2c(comm), &ranks);
  MPI_Type_size(MPI_Type_f2c(datatype), &size);
  MPI_Info_get_nkeys(MPI_Info_f2c(info), &keys);
  MPI_Group_size(MPI_Group_f2c(group), &members);
  MPI_Status_f2c(status, &c_status);
  MPI_Get_count(&c_status, MPI_INTEGER, &count);
  return MPI_Comm_f2c(comm) == MPI_COMM_WORLD && MPI_Comm_c2f(MPI_COMM_WORLD) == comm &&
         size == 24 && MPI_Type_c2f(MPI_Type_f2c(datatype)) == datatype &&
         MPI_Op_f2c(op) == MPI_SUM && MPI_Request_f2c(request) == MPI_REQUEST_NULL && keys == 0 &&
         members == ranks && MPI_File_f2c(file) == MPI_FILE_NULL && c_status.MPI_TAG == 21 &&
         c_status.MPI_SOURCE == (rank + ranks - 1) % ranks && count == 1;
}

MPI_Fint made_by_c(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return MPI_Comm_c2f(comm);
}
