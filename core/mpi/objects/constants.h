// The MPI types, handles and constants of the simulated MPI. The values are those of the MPICH
// binary interface (the MPICH ABI initiative, common to MPICH, Intel MPI, MVAPICH and Cray MPICH),
// so that the entry points of this interface need no translation. The entry points of other
// interfaces translate the values (core/abi).
#pragma once

#include <cstdint>

namespace sesame::mpi {

using Comm = int;
using Datatype = int;
using Group = int;
using Op = int;
using Request = int;
using Errhandler = int;
using Message = int;
using Info = int;
using Win = int;
using Session = int;
using File = void*;
using Aint = long;
using Count = long long;
using Offset = long long;
using Fint = int;

// The layout of MPI_Status in the MPICH binary interface. Bits 1 to 31 of count_hi_and_cancelled
// are the high bits of the byte count; bit 0 is set if the operation was cancelled.
struct Status {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;

  Count byte_count() const {
    return (static_cast<Count>(static_cast<unsigned>(count_hi_and_cancelled) >> 1) << 32) |
           static_cast<unsigned>(count_lo);
  }
  void set_byte_count(Count bytes) {
    count_lo = static_cast<int>(bytes & 0xffffffff);
    count_hi_and_cancelled =
        static_cast<int>((static_cast<unsigned>(bytes >> 32) << 1) | (cancelled() ? 1u : 0u));
  }
  bool cancelled() const { return (count_hi_and_cancelled & 1) != 0; }
  void set_cancelled(bool flag) {
    count_hi_and_cancelled = (count_hi_and_cancelled & ~1) | (flag ? 1 : 0);
  }
};

// Addresses with a special meaning; compared, never dereferenced.
inline Status* const MPI_STATUS_IGNORE = reinterpret_cast<Status*>(1);
inline Status* const MPI_STATUSES_IGNORE = reinterpret_cast<Status*>(1);
inline void* const MPI_IN_PLACE = reinterpret_cast<void*>(-1);
inline void* const MPI_BUFFER_AUTOMATIC = reinterpret_cast<void*>(-2);
inline void* const MPI_BOTTOM = nullptr;

// Handles.
inline constexpr Comm MPI_COMM_NULL = 0x04000000;
inline constexpr Op MPI_OP_NULL = 0x18000000;
inline constexpr Group MPI_GROUP_NULL = 0x08000000;
inline constexpr Datatype MPI_DATATYPE_NULL = 0x0c000000;
inline constexpr Request MPI_REQUEST_NULL = 0x2c000000;
inline constexpr Errhandler MPI_ERRHANDLER_NULL = 0x14000000;
inline constexpr Message MPI_MESSAGE_NULL = 0x2c000000;
inline constexpr Message MPI_MESSAGE_NO_PROC = 0x6c000000;
inline constexpr Datatype MPI_CHAR = 0x4c000101;
inline constexpr Datatype MPI_UNSIGNED_CHAR = 0x4c000102;
inline constexpr Datatype MPI_SHORT = 0x4c000203;
inline constexpr Datatype MPI_UNSIGNED_SHORT = 0x4c000204;
inline constexpr Datatype MPI_INT = 0x4c000405;
inline constexpr Datatype MPI_UNSIGNED = 0x4c000406;
inline constexpr Datatype MPI_LONG = 0x4c000807;
inline constexpr Datatype MPI_UNSIGNED_LONG = 0x4c000808;
inline constexpr Datatype MPI_LONG_LONG_INT = 0x4c000809;
inline constexpr Datatype MPI_FLOAT = 0x4c00040a;
inline constexpr Datatype MPI_DOUBLE = 0x4c00080b;
inline constexpr Datatype MPI_LONG_DOUBLE = 0x4c00100c;
inline constexpr Datatype MPI_BYTE = 0x4c00010d;
inline constexpr Datatype MPI_WCHAR = 0x4c00040e;
inline constexpr Datatype MPI_PACKED = 0x4c00010f;
inline constexpr Datatype MPI_LB = 0x4c000010;
inline constexpr Datatype MPI_UB = 0x4c000011;
inline constexpr Datatype MPI_FLOAT_INT = static_cast<int>(0x8c000000);
inline constexpr Datatype MPI_DOUBLE_INT = static_cast<int>(0x8c000001);
inline constexpr Datatype MPI_LONG_INT = static_cast<int>(0x8c000002);
inline constexpr Datatype MPI_SHORT_INT = static_cast<int>(0x8c000003);
inline constexpr Datatype MPI_2INT = 0x4c000816;
inline constexpr Datatype MPI_LONG_DOUBLE_INT = static_cast<int>(0x8c000004);
inline constexpr Datatype MPI_SIGNED_CHAR = 0x4c000118;
inline constexpr Datatype MPI_UNSIGNED_LONG_LONG = 0x4c000819;
inline constexpr Datatype MPI_CHARACTER = 0x4c00011a;
inline constexpr Datatype MPI_INTEGER = 0x4c00041b;
inline constexpr Datatype MPI_REAL = 0x4c00041c;
inline constexpr Datatype MPI_LOGICAL = 0x4c00041d;
inline constexpr Datatype MPI_COMPLEX = 0x4c00081e;
inline constexpr Datatype MPI_DOUBLE_PRECISION = 0x4c00081f;
inline constexpr Datatype MPI_2INTEGER = 0x4c000820;
inline constexpr Datatype MPI_2REAL = 0x4c000821;
inline constexpr Datatype MPI_DOUBLE_COMPLEX = 0x4c001022;
inline constexpr Datatype MPI_2DOUBLE_PRECISION = 0x4c001023;
inline constexpr Datatype MPI_REAL2 = 0x4c000226;
inline constexpr Datatype MPI_REAL4 = 0x4c000427;
inline constexpr Datatype MPI_COMPLEX8 = 0x4c000828;
inline constexpr Datatype MPI_REAL8 = 0x4c000829;
inline constexpr Datatype MPI_COMPLEX16 = 0x4c00102a;
inline constexpr Datatype MPI_REAL16 = 0x4c00102b;
inline constexpr Datatype MPI_COMPLEX32 = 0x4c00202c;
inline constexpr Datatype MPI_INTEGER1 = 0x4c00012d;
inline constexpr Datatype MPI_COMPLEX4 = 0x4c00042e;
inline constexpr Datatype MPI_INTEGER2 = 0x4c00022f;
inline constexpr Datatype MPI_INTEGER4 = 0x4c000430;
inline constexpr Datatype MPI_INTEGER8 = 0x4c000831;
inline constexpr Datatype MPI_INTEGER16 = 0x4c001032;
inline constexpr Datatype MPI_CXX_BOOL = 0x4c000133;
inline constexpr Datatype MPI_CXX_FLOAT_COMPLEX = 0x4c000834;
inline constexpr Datatype MPI_CXX_DOUBLE_COMPLEX = 0x4c001035;
inline constexpr Datatype MPI_CXX_LONG_DOUBLE_COMPLEX = 0x4c002036;
inline constexpr Datatype MPI_INT8_T = 0x4c000137;
inline constexpr Datatype MPI_INT16_T = 0x4c000238;
inline constexpr Datatype MPI_INT32_T = 0x4c000439;
inline constexpr Datatype MPI_INT64_T = 0x4c00083a;
inline constexpr Datatype MPI_UINT8_T = 0x4c00013b;
inline constexpr Datatype MPI_UINT16_T = 0x4c00023c;
inline constexpr Datatype MPI_UINT32_T = 0x4c00043d;
inline constexpr Datatype MPI_UINT64_T = 0x4c00083e;
inline constexpr Datatype MPI_C_BOOL = 0x4c00013f;
inline constexpr Datatype MPI_C_FLOAT_COMPLEX = 0x4c000840;
inline constexpr Datatype MPI_C_DOUBLE_COMPLEX = 0x4c001041;
inline constexpr Datatype MPI_C_LONG_DOUBLE_COMPLEX = 0x4c002042;
inline constexpr Datatype MPI_AINT = 0x4c000843;
inline constexpr Datatype MPI_OFFSET = 0x4c000844;
inline constexpr Datatype MPI_COUNT = 0x4c000845;
inline constexpr Datatype MPIX_C_FLOAT16 = 0x4c000246;
inline constexpr Datatype MPI_LOGICAL1 = 0x4c000147;
inline constexpr Datatype MPI_LOGICAL2 = 0x4c000248;
inline constexpr Datatype MPI_LOGICAL4 = 0x4c000449;
inline constexpr Datatype MPI_LOGICAL8 = 0x4c00084a;
inline constexpr Datatype MPI_LOGICAL16 = 0x4c00104b;
inline constexpr Datatype MPIX_BFLOAT16 = 0x4c00024c;
inline constexpr Comm MPI_COMM_WORLD = 0x44000000;
inline constexpr Comm MPI_COMM_SELF = 0x44000001;
inline constexpr Group MPI_GROUP_EMPTY = 0x48000000;
inline constexpr Win MPI_WIN_NULL = 0x20000000;
inline constexpr Session MPI_SESSION_NULL = 0x38000000;
inline constexpr Op MPI_MAX = 0x58000001;
inline constexpr Op MPI_MIN = 0x58000002;
inline constexpr Op MPI_SUM = 0x58000003;
inline constexpr Op MPI_PROD = 0x58000004;
inline constexpr Op MPI_LAND = 0x58000005;
inline constexpr Op MPI_BAND = 0x58000006;
inline constexpr Op MPI_LOR = 0x58000007;
inline constexpr Op MPI_BOR = 0x58000008;
inline constexpr Op MPI_LXOR = 0x58000009;
inline constexpr Op MPI_BXOR = 0x5800000a;
inline constexpr Op MPI_MINLOC = 0x5800000b;
inline constexpr Op MPI_MAXLOC = 0x5800000c;
inline constexpr Op MPI_REPLACE = 0x5800000d;
inline constexpr Op MPI_NO_OP = 0x5800000e;
inline constexpr Errhandler MPI_ERRORS_ARE_FATAL = 0x54000000;
inline constexpr Errhandler MPI_ERRORS_RETURN = 0x54000001;
inline constexpr Errhandler MPIR_ERRORS_THROW_EXCEPTIONS = 0x54000002;
inline constexpr Errhandler MPI_ERRORS_ABORT = 0x54000003;
inline constexpr Info MPI_INFO_NULL = 0x1c000000;
inline constexpr Info MPI_INFO_ENV = 0x5c000001;

// Error classes.
inline constexpr int MPI_SUCCESS = 0;
inline constexpr int MPI_F_ERROR = 4;
inline constexpr int MPI_MAX_ERROR_STRING = 512;
inline constexpr int MPI_ERR_BUFFER = 1;
inline constexpr int MPI_ERR_COUNT = 2;
inline constexpr int MPI_ERR_TYPE = 3;
inline constexpr int MPI_ERR_TAG = 4;
inline constexpr int MPI_ERR_COMM = 5;
inline constexpr int MPI_ERR_RANK = 6;
inline constexpr int MPI_ERR_ROOT = 7;
inline constexpr int MPI_ERR_TRUNCATE = 14;
inline constexpr int MPI_ERR_GROUP = 8;
inline constexpr int MPI_ERR_OP = 9;
inline constexpr int MPI_ERR_REQUEST = 19;
inline constexpr int MPI_ERR_TOPOLOGY = 10;
inline constexpr int MPI_ERR_DIMS = 11;
inline constexpr int MPI_ERR_ARG = 12;
inline constexpr int MPI_ERR_OTHER = 15;
inline constexpr int MPI_ERR_UNKNOWN = 13;
inline constexpr int MPI_ERR_INTERN = 16;
inline constexpr int MPI_ERR_IN_STATUS = 17;
inline constexpr int MPI_ERR_PENDING = 18;
inline constexpr int MPI_ERR_ACCESS = 20;
inline constexpr int MPI_ERR_AMODE = 21;
inline constexpr int MPI_ERR_BAD_FILE = 22;
inline constexpr int MPI_ERR_CONVERSION = 23;
inline constexpr int MPI_ERR_DUP_DATAREP = 24;
inline constexpr int MPI_ERR_FILE_EXISTS = 25;
inline constexpr int MPI_ERR_FILE_IN_USE = 26;
inline constexpr int MPI_ERR_FILE = 27;
inline constexpr int MPI_ERR_IO = 32;
inline constexpr int MPI_ERR_NO_SPACE = 36;
inline constexpr int MPI_ERR_NO_SUCH_FILE = 37;
inline constexpr int MPI_ERR_READ_ONLY = 40;
inline constexpr int MPI_ERR_UNSUPPORTED_DATAREP = 43;
inline constexpr int MPI_ERR_INFO = 28;
inline constexpr int MPI_ERR_INFO_KEY = 29;
inline constexpr int MPI_ERR_INFO_VALUE = 30;
inline constexpr int MPI_ERR_INFO_NOKEY = 31;
inline constexpr int MPI_ERR_NAME = 33;
inline constexpr int MPI_ERR_NO_MEM = 34;
inline constexpr int MPI_ERR_NOT_SAME = 35;
inline constexpr int MPI_ERR_PORT = 38;
inline constexpr int MPI_ERR_QUOTA = 39;
inline constexpr int MPI_ERR_SERVICE = 41;
inline constexpr int MPI_ERR_SPAWN = 42;
inline constexpr int MPI_ERR_UNSUPPORTED_OPERATION = 44;
inline constexpr int MPI_ERR_WIN = 45;
inline constexpr int MPI_ERR_BASE = 46;
inline constexpr int MPI_ERR_LOCKTYPE = 47;
inline constexpr int MPI_ERR_KEYVAL = 48;
inline constexpr int MPI_ERR_RMA_CONFLICT = 49;
inline constexpr int MPI_ERR_RMA_SYNC = 50;
inline constexpr int MPI_ERR_SIZE = 51;
inline constexpr int MPI_ERR_DISP = 52;
inline constexpr int MPI_ERR_ASSERT = 53;
inline constexpr int MPI_ERR_RMA_RANGE = 55;
inline constexpr int MPI_ERR_RMA_ATTACH = 56;
inline constexpr int MPI_ERR_RMA_SHARED = 57;
inline constexpr int MPI_ERR_RMA_FLAVOR = 58;
inline constexpr int MPI_ERR_SESSION = 75;
inline constexpr int MPI_ERR_PROC_ABORTED = 76;
inline constexpr int MPI_ERR_VALUE_TOO_LARGE = 77;
inline constexpr int MPI_ERR_ERRHANDLER = 80;
inline constexpr int MPI_ERR_ABI = 81;
inline constexpr int MPI_ERR_LASTCODE = 0x3fffffff;

// Everything else.
inline constexpr int MPI_KEYVAL_INVALID = 0x24000000;
inline constexpr int MPI_TAG_UB = 0x64400001;
inline constexpr int MPI_HOST = 0x64400003;
inline constexpr int MPI_IO = 0x64400005;
inline constexpr int MPI_WTIME_IS_GLOBAL = 0x64400007;
inline constexpr int MPI_UNIVERSE_SIZE = 0x64400009;
inline constexpr int MPI_LASTUSEDCODE = 0x6440000b;
inline constexpr int MPI_APPNUM = 0x6440000d;
inline constexpr int MPI_WIN_BASE = 0x66000001;
inline constexpr int MPI_WIN_SIZE = 0x66000003;
inline constexpr int MPI_WIN_DISP_UNIT = 0x66000005;
inline constexpr int MPI_WIN_CREATE_FLAVOR = 0x66000007;
inline constexpr int MPI_WIN_MODEL = 0x66000009;
inline constexpr int MPI_F_STATUS_SIZE = 5;
inline constexpr int MPI_F_SOURCE = 2;
inline constexpr int MPI_F_TAG = 3;
inline constexpr int MPI_MAX_PROCESSOR_NAME = 128;
inline constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 8192;
inline constexpr int MPI_MAX_PORT_NAME = 256;
inline constexpr int MPI_MAX_OBJECT_NAME = 128;
inline constexpr int MPI_MAX_STRINGTAG_LEN = 256;
inline constexpr int MPI_MAX_PSET_NAME_LEN = 256;
inline constexpr int MPI_MAX_INFO_KEY = 255;
inline constexpr int MPI_MAX_INFO_VAL = 1024;
inline constexpr int MPI_MAX_DATAREP_STRING = 128;
inline constexpr int MPI_WIN_FLAVOR_CREATE = 1;
inline constexpr int MPI_WIN_FLAVOR_ALLOCATE = 2;
inline constexpr int MPI_WIN_FLAVOR_DYNAMIC = 3;
inline constexpr int MPI_WIN_FLAVOR_SHARED = 4;
inline constexpr int MPI_WIN_SEPARATE = 1;
inline constexpr int MPI_WIN_UNIFIED = 2;
inline constexpr int MPI_BSEND_OVERHEAD = 96;
inline constexpr int MPI_GRAPH = 1;
inline constexpr int MPI_CART = 2;
inline constexpr int MPI_DIST_GRAPH = 3;
inline constexpr int MPI_PROC_NULL = -1;
inline constexpr int MPI_ANY_SOURCE = -2;
inline constexpr int MPI_ROOT = -3;
inline constexpr int MPI_ANY_TAG = -1;
inline constexpr int MPI_UNDEFINED = -32766;
inline constexpr int MPI_IDENT = 0;
inline constexpr int MPI_CONGRUENT = 1;
inline constexpr int MPI_SIMILAR = 2;
inline constexpr int MPI_UNEQUAL = 3;
inline constexpr int MPI_TYPECLASS_REAL = 1;
inline constexpr int MPI_TYPECLASS_INTEGER = 2;
inline constexpr int MPI_TYPECLASS_COMPLEX = 3;
inline constexpr int MPI_LOCK_EXCLUSIVE = 234;
inline constexpr int MPI_LOCK_SHARED = 235;
inline constexpr int MPI_COMBINER_NAMED = 1;
inline constexpr int MPI_COMBINER_DUP = 2;
inline constexpr int MPI_COMBINER_CONTIGUOUS = 3;
inline constexpr int MPI_COMBINER_VECTOR = 4;
inline constexpr int MPI_COMBINER_HVECTOR_INTEGER = 5;
inline constexpr int MPI_COMBINER_HVECTOR = 6;
inline constexpr int MPI_COMBINER_INDEXED = 7;
inline constexpr int MPI_COMBINER_HINDEXED_INTEGER = 8;
inline constexpr int MPI_COMBINER_HINDEXED = 9;
inline constexpr int MPI_COMBINER_INDEXED_BLOCK = 10;
inline constexpr int MPI_COMBINER_STRUCT_INTEGER = 11;
inline constexpr int MPI_COMBINER_STRUCT = 12;
inline constexpr int MPI_COMBINER_SUBARRAY = 13;
inline constexpr int MPI_COMBINER_DARRAY = 14;
inline constexpr int MPI_COMBINER_F90_REAL = 15;
inline constexpr int MPI_COMBINER_F90_COMPLEX = 16;
inline constexpr int MPI_COMBINER_F90_INTEGER = 17;
inline constexpr int MPI_COMBINER_RESIZED = 18;
inline constexpr int MPI_COMBINER_HINDEXED_BLOCK = 19;
inline constexpr int MPI_COMBINER_VALUE_INDEX = 20;
inline constexpr int MPI_ORDER_C = 56;
inline constexpr int MPI_ORDER_FORTRAN = 57;
inline constexpr int MPI_DISTRIBUTE_BLOCK = 121;
inline constexpr int MPI_DISTRIBUTE_CYCLIC = 122;
inline constexpr int MPI_DISTRIBUTE_NONE = 123;
inline constexpr int MPI_DISTRIBUTE_DFLT_DARG = -49767;
inline constexpr int MPI_MODE_NOCHECK = 1024;
inline constexpr int MPI_MODE_NOSTORE = 2048;
inline constexpr int MPI_MODE_NOPUT = 4096;
inline constexpr int MPI_MODE_NOPRECEDE = 8192;
inline constexpr int MPI_MODE_NOSUCCEED = 16384;
inline constexpr int MPI_COMM_TYPE_SHARED = 1;
inline constexpr int MPI_COMM_TYPE_HW_GUIDED = 2;
inline constexpr int MPI_COMM_TYPE_HW_UNGUIDED = 3;
inline constexpr int MPI_COMM_TYPE_RESOURCE_GUIDED = 4;
inline constexpr int MPI_THREAD_SINGLE = 0;
inline constexpr int MPI_THREAD_FUNNELED = 1;
inline constexpr int MPI_THREAD_SERIALIZED = 2;
inline constexpr int MPI_THREAD_MULTIPLE = 3;
inline constexpr int MPI_MODE_RDONLY = 2;
inline constexpr int MPI_MODE_RDWR = 8;
inline constexpr int MPI_MODE_WRONLY = 4;
inline constexpr int MPI_MODE_CREATE = 1;
inline constexpr int MPI_MODE_EXCL = 64;
inline constexpr int MPI_MODE_DELETE_ON_CLOSE = 16;
inline constexpr int MPI_MODE_UNIQUE_OPEN = 32;
inline constexpr int MPI_MODE_APPEND = 128;
inline constexpr int MPI_MODE_SEQUENTIAL = 256;
inline constexpr int MPI_SEEK_SET = 600;
inline constexpr int MPI_SEEK_CUR = 602;
inline constexpr int MPI_SEEK_END = 604;
inline constexpr int MPIX_GPU_SUPPORT_CUDA = 0;
inline constexpr int MPIX_GPU_SUPPORT_ZE = 1;
inline constexpr int MPIX_GPU_SUPPORT_HIP = 2;
inline constexpr int MPIR_T_PVAR_CLASS_NUMBER = 10;
inline constexpr Offset MPI_DISPLACEMENT_CURRENT = -54278278;

}  // namespace sesame::mpi
