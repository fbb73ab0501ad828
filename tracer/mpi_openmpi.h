/* The binary interface of Open MPI: types and constants, named as in mpi.h without MPI_. */
#include <stddef.h>
#include <stdint.h>

typedef struct ompi_communicator_t* Comm;
typedef struct ompi_datatype_t* Datatype;
typedef struct ompi_errhandler_t* Errhandler;
typedef struct ompi_group_t* Group;
typedef struct ompi_info_t* Info;
typedef struct ompi_message_t* Message;
typedef struct ompi_op_t* Op;
typedef struct ompi_request_t* Request;
typedef struct ompi_instance_t* Session;
typedef struct ompi_win_t* Win;
typedef struct ompi_file_t* File;
typedef ptrdiff_t Aint;
typedef long long Count;
typedef long long Offset;
typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int cancelled;
  size_t count;
} Status;

/* Predefined objects are variables: of the program where it has copies, else of the library. */
extern void* sesame_openmpi_objects[8];
#define COMM_NULL ((Comm)sesame_openmpi_objects[0])
#define COMM_WORLD ((Comm)sesame_openmpi_objects[1])
#define COMM_SELF ((Comm)sesame_openmpi_objects[2])
#define GROUP_NULL ((Group)sesame_openmpi_objects[3])
#define MESSAGE_NULL ((Message)sesame_openmpi_objects[4])
#define REQUEST_NULL ((Request)sesame_openmpi_objects[5])
#define INFO_NULL ((Info)sesame_openmpi_objects[6])
#define REQUEST_EMPTY sesame_openmpi_objects[7] /* of every message that is complete at once */
#define SESSION_NULL ((Session)0)

#define PROC_NULL (-2)
#define ANY_SOURCE (-1)
#define ROOT (-4)
#define ANY_TAG (-1)
#define UNDEFINED (-32766)
#define STATUS_IGNORE ((Status*)0)
#define STATUSES_IGNORE ((Status*)0)
#define IN_PLACE ((void*)1)

#define CART 1
#define GRAPH 2
#define DIST_GRAPH 3

#define ERR_TRUNCATE 15
#define ERR_IN_STATUS 18
#define ERR_PENDING 19

#define MODE_CREATE 1
#define MODE_RDONLY 2
#define MODE_WRONLY 4
#define MODE_RDWR 8
#define MODE_EXCL 64
#define MODE_APPEND 128
#define WHENCE_SET 600

#define COMBINER_NAMED 0
#define COMBINER_DUP 1
#define COMBINER_CONTIGUOUS 2
#define COMBINER_VECTOR 3
#define COMBINER_HVECTOR 5
#define COMBINER_INDEXED 6
#define COMBINER_HINDEXED 8
#define COMBINER_INDEXED_BLOCK 9
#define COMBINER_HINDEXED_BLOCK 18
#define COMBINER_STRUCT 11
#define COMBINER_SUBARRAY 12
#define COMBINER_DARRAY 13
#define COMBINER_F90_REAL 14
#define COMBINER_F90_COMPLEX 15
#define COMBINER_F90_INTEGER 16
#define COMBINER_RESIZED 17

#define ORDER_C 0
#define DISTRIBUTE_BLOCK 0
#define DISTRIBUTE_NONE 2
#define DISTRIBUTE_DFLT_DARG (-1)

#define INTERFACE sesame_mpi_openmpi
#define INTERFACE_NUMBER 3
#define KEY(handle) ((uintptr_t)(handle))
#define REQUEST_ID(request) \
  ((void*)(request) == REQUEST_EMPTY ? 1 : sesame_pointer_id((uintptr_t)(request)))
#define LOOK_UP_CONSTANTS(library) sesame_openmpi_look_up(library)

void sesame_openmpi_look_up(void* library);
