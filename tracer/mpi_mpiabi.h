/* The binary interface of the MPI 5 standard: types and constants, named without MPI_. */
#include <stddef.h>
#include <stdint.h>

typedef struct AbiComm* Comm;
typedef struct AbiDatatype* Datatype;
typedef struct AbiErrhandler* Errhandler;
typedef struct AbiGroup* Group;
typedef struct AbiInfo* Info;
typedef struct AbiMessage* Message;
typedef struct AbiOp* Op;
typedef struct AbiRequest* Request;
typedef struct AbiSession* Session;
typedef struct AbiWin* Win;
typedef struct AbiFile* File;
typedef intptr_t Aint;
typedef int64_t Count;
typedef int64_t Offset;
typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} Status;

#define COMM_NULL ((Comm)0x100)
#define COMM_WORLD ((Comm)0x101)
#define COMM_SELF ((Comm)0x102)
#define GROUP_NULL ((Group)0x108)
#define MESSAGE_NULL ((Message)0x128)
#define REQUEST_NULL ((Request)0x180)
#define SESSION_NULL ((Session)0x120)
#define INFO_NULL ((Info)0x130)

#define PROC_NULL (-3)
#define ANY_SOURCE (-1)
#define ROOT (-4)
#define ANY_TAG (-2)
#define UNDEFINED (-32766)
#define STATUS_IGNORE ((Status*)0)
#define STATUSES_IGNORE ((Status*)0)
#define IN_PLACE ((void*)1)

#define CART 211
#define GRAPH 212
#define DIST_GRAPH 213

#define ERR_TRUNCATE 15
#define ERR_PENDING 18
#define ERR_IN_STATUS 19

#define MODE_APPEND 1
#define MODE_CREATE 2
#define MODE_EXCL 8
#define MODE_RDONLY 16
#define MODE_RDWR 32
#define MODE_WRONLY 256
#define WHENCE_SET 403

#define COMBINER_NAMED 101
#define COMBINER_DUP 102
#define COMBINER_CONTIGUOUS 103
#define COMBINER_VECTOR 104
#define COMBINER_HVECTOR 105
#define COMBINER_INDEXED 106
#define COMBINER_HINDEXED 107
#define COMBINER_INDEXED_BLOCK 108
#define COMBINER_HINDEXED_BLOCK 109
#define COMBINER_STRUCT 110
#define COMBINER_SUBARRAY 111
#define COMBINER_DARRAY 112
#define COMBINER_F90_REAL 113
#define COMBINER_F90_COMPLEX 114
#define COMBINER_F90_INTEGER 115
#define COMBINER_RESIZED 116

#define ORDER_C 0xC
#define DISTRIBUTE_BLOCK 17
#define DISTRIBUTE_NONE 16
#define DISTRIBUTE_DFLT_DARG 19

#define INTERFACE sesame_mpi_mpiabi
#define INTERFACE_NUMBER 2
#define KEY(handle) ((uintptr_t)(handle))
#define REQUEST_ID(request) sesame_pointer_id((uintptr_t)(request))
#define LOOK_UP_CONSTANTS(library) ((void)(library))
