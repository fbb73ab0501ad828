// Calls of the program's functions: user operations, attribute copy and delete functions, error
// handlers, generalised requests.
//
// The types of handles, the values of constants and the layout of a status depend on the program's
// binary interface. Each interface (core/abi) therefore defines one instance of Callbacks. Objects
// of core/mpi store the address of a function with its kind and call it through callbacks(), never
// directly: the address may be a constant of the interface (MPI_COMM_DUP_FN) or null
// (MPI_COMM_NULL_COPY_FN), which callbacks() handles. The functions return error classes or codes
// of the simulator, not those of the interface. They are called on the running strand and may block
// it.
#pragma once

#include <cstdint>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// A function of the program of any type.
using Function = void (*)();

// The addresses of MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY, in the first page, which is never mapped.
// The data symbols of the MPICH interface (core/abi/mpich_data.c) have the same values.
inline constexpr unsigned long kUnweightedAddress = 0x110;
inline constexpr unsigned long kWeightsEmptyAddress = 0x120;

// The calling convention of a function of the program: kC takes counts as int*, kCLargeCount as
// MPI_Count*, kFortran everything by address and the error code as its last argument.
enum class CallbackKind : uint8_t { kC, kCLargeCount, kFortran };

// What an attribute's value is: a pointer of C, or a Fortran integer of address or default width.
// The values are those that MPICH's Fortran layer passes.
enum class AttributeType : int { kPointer = 0, kAddressInteger = 1, kInteger = 3 };

enum class AttributeOwner : uint8_t { kComm, kDatatype, kWin };

// A function of the program. If it is not a C function, callbacks() calls it through `proxy`, a
// function of MPICH's Fortran or C++ layer that converts the arguments. `proxy` is null for C.
struct ProxiedFunction {
  ProxiedFunction(Function function_in = nullptr, Function proxy_in = nullptr)
      : function(function_in), proxy(proxy_in) {}
  Function function;
  Function proxy;
};

// Arguments of a function that converts `count` copies of a type between memory and a file.
struct Conversion {
  Function function;
  bool large;  // the function takes MPI_Count
  void* user_buffer;
  Datatype datatype;
  Count count;
  void* file_buffer;
  Count file_bytes;  // in file_buffer
  Offset position;
  void* extra_state;
};

struct Callbacks {
  // The error class or code in the program's binary interface.
  int (*error_code)(int error);

  // inout = in op inout for `count` elements.
  void (*invoke_op)(const ProxiedFunction& function, CallbackKind kind, const void* in, void* inout,
                    Count count, Datatype datatype);

  // `object` is the handle of a communicator, datatype or window. *copy is the copy, and *keep
  // whether the new object gets the attribute.
  int (*copy_attribute)(const ProxiedFunction& function, AttributeOwner owner, int object,
                        int keyval, void* extra_state, AttributeType type, void* value, void** copy,
                        bool* keep);
  int (*delete_attribute)(const ProxiedFunction& function, AttributeOwner owner, int object,
                          int keyval, void* extra_state, AttributeType type, void* value);

  // Each returns the error, which the program's function may have changed.
  int (*comm_errhandler)(const ProxiedFunction& function, Comm comm, int error);
  int (*win_errhandler)(const ProxiedFunction& function, Win win, int error);
  int (*file_errhandler)(const ProxiedFunction& function, File file, int error);
  int (*session_errhandler)(const ProxiedFunction& function, Session session, int error);

  int (*datarep_convert)(const Conversion& conversion);
  int (*datarep_extent)(Function function, Datatype datatype, Aint* extent, void* extra_state);

  int (*grequest_query)(Function function, CallbackKind kind, void* extra_state, Status* status);
  int (*grequest_free)(Function function, CallbackKind kind, void* extra_state);
  int (*grequest_cancel)(Function function, CallbackKind kind, void* extra_state, bool complete);
};

// The callbacks of the binary interface that this executable exports. Each interface defines it
// (sesame_abi_mpich, sesame_abi_mpiabi, sesame_abi_openmpi): link one of them to every executable
// that uses sesame_mpi, or define it there.
const Callbacks& callbacks();

// Functions that a Fortran layer on top of the C interface needs in addition to those of MPI;
// core/mpi defines them. A stored Fortran integer is returned to C as its address and to Fortran as
// its value. A stored C pointer is returned to both as its value. Predefined attributes are
// addresses in C and values in Fortran. Comm_get_attr() and Comm_set_attr() call these with
// kPointer.
int Comm_get_attribute(Comm comm, int keyval, AttributeType asked, void* value, int* flag);
int Comm_set_attribute(Comm comm, int keyval, AttributeType type, void* value);
int Type_get_attribute(Datatype datatype, int keyval, AttributeType asked, void* value, int* flag);
int Type_set_attribute(Datatype datatype, int keyval, AttributeType type, void* value);
int Win_get_attribute(Win win, int keyval, AttributeType asked, void* value, int* flag);
int Win_set_attribute(Win win, int keyval, AttributeType type, void* value);
// Calls the keyval's functions through these proxies from now on.
void Keyval_set_proxies(int keyval, Function copy_proxy, Function delete_proxy);
// The same for the function of an operation and of an error handler.
void Op_set_proxy(Op op, Function proxy);
void Errhandler_set_proxy(Errhandler errhandler, Function proxy);
// MPI::ERRORS_THROW_EXCEPTIONS calls this function, a communicator's error handler that throws,
// also for other objects. Without one it returns the error, and the C++ layer throws.
void Errhandler_throw_by(Function function);
// The functions of this generalised request are Fortran functions.
void Grequest_set_fortran(Request request);

}  // namespace sesame::mpi
