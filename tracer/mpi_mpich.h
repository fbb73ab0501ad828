/* The binary interface of MPICH: types and constants, named as in mpi.h without MPI_. */
#include <stddef.h>
#include <stdint.h>

typedef int Comm;
typedef int Datatype;
typedef int Errhandler;
typedef int Group;
typedef int Info;
typedef int Message;
typedef int Op;
typedef int Request;
typedef int Session;
typedef int Win;
typedef void* File;
typedef int64_t Aint;
typedef int64_t Count;
typedef int64_t Offset;
typedef struct {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
} Status;

#define COMM_NULL 0x04000000
#define COMM_WORLD 0x44000000
#define COMM_SELF 0x44000001
#define GROUP_NULL 0x08000000
#define MESSAGE_NULL 0x2c000000
#define REQUEST_NULL 0x2c000000
#define SESSION_NULL 0x38000000
#define INFO_NULL 0x1c000000

#define PROC_NULL (-1)
#define ANY_SOURCE (-2)
#define ROOT (-3)
#define ANY_TAG (-1)
#define UNDEFINED (-32766)
#define STATUS_IGNORE ((Status*)1)
#define STATUSES_IGNORE ((Status*)1)
#define IN_PLACE ((void*)-1)

#define GRAPH 1
#define CART 2
#define DIST_GRAPH 3

#define ERR_TRUNCATE 14
#define ERR_IN_STATUS 17
#define ERR_PENDING 18

#define MODE_CREATE 1
#define MODE_RDONLY 2
#define MODE_WRONLY 4
#define MODE_RDWR 8
#define MODE_EXCL 64
#define MODE_APPEND 128
#define WHENCE_SET 600

#define COMBINER_NAMED 1
#define COMBINER_DUP 2
#define COMBINER_CONTIGUOUS 3
#define COMBINER_VECTOR 4
#define COMBINER_HVECTOR 6
#define COMBINER_INDEXED 7
#define COMBINER_HINDEXED 9
#define COMBINER_INDEXED_BLOCK 10
#define COMBINER_HINDEXED_BLOCK 19
#define COMBINER_STRUCT 12
#define COMBINER_SUBARRAY 13
#define COMBINER_DARRAY 14
#define COMBINER_F90_REAL 15
#define COMBINER_F90_COMPLEX 16
#define COMBINER_F90_INTEGER 17
#define COMBINER_RESIZED 18

#define ORDER_C 56
#define DISTRIBUTE_BLOCK 121
#define DISTRIBUTE_NONE 123
#define DISTRIBUTE_DFLT_DARG (-49767)

#define INTERFACE sesame_mpi_mpich
#define INTERFACE_NUMBER 1
#define KEY(handle) ((uintptr_t)(handle))
#define REQUEST_ID(request) ((uint32_t)(request))
#define LOOK_UP_CONSTANTS(library) ((void)(library))
