// Error classes of the tool information interface (MPI_T), with the values of the MPICH binary
// interface. These functions return them without calling an error handler.
//
// MPI_T_PVAR_ALL_HANDLES is a constant address, the same in all binary interfaces.
#pragma once

namespace sesame::mpi {

inline constexpr int MPI_T_ERR_MEMORY = 59;
inline constexpr int MPI_T_ERR_NOT_INITIALIZED = 60;
inline constexpr int MPI_T_ERR_CANNOT_INIT = 61;
inline constexpr int MPI_T_ERR_INVALID_INDEX = 62;
inline constexpr int MPI_T_ERR_INVALID_ITEM = 63;
inline constexpr int MPI_T_ERR_INVALID_HANDLE = 64;
inline constexpr int MPI_T_ERR_OUT_OF_HANDLES = 65;
inline constexpr int MPI_T_ERR_OUT_OF_SESSIONS = 66;
inline constexpr int MPI_T_ERR_INVALID_SESSION = 67;
inline constexpr int MPI_T_ERR_CVAR_SET_NOT_NOW = 68;
inline constexpr int MPI_T_ERR_CVAR_SET_NEVER = 69;
inline constexpr int MPI_T_ERR_PVAR_NO_STARTSTOP = 70;
inline constexpr int MPI_T_ERR_PVAR_NO_WRITE = 71;
inline constexpr int MPI_T_ERR_PVAR_NO_ATOMIC = 72;
inline constexpr int MPI_T_ERR_INVALID_NAME = 73;
inline constexpr int MPI_T_ERR_INVALID = 74;
inline constexpr int MPI_T_ERR_NOT_SUPPORTED = 78;
inline constexpr int MPI_T_ERR_NOT_ACCESSIBLE = 79;

inline void* const MPI_T_PVAR_ALL_HANDLES = reinterpret_cast<void*>(1);

}  // namespace sesame::mpi
