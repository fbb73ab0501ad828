# Makes api.h, call_ids.h and call_ids.cc from functions.table, in the build tree.
# core/mpi/CMakeLists.txt includes this file and adds ${SESAME_MPI_GENERATED} to the sources of
# sesame_mpi. A target that includes api.h must depend on the target sesame_mpi_generated.
set(_directory ${PROJECT_BINARY_DIR}/core/mpi)
set(SESAME_MPI_GENERATED ${_directory}/api.h ${_directory}/call_ids.h ${_directory}/call_ids.cc)
add_custom_command(
  OUTPUT ${SESAME_MPI_GENERATED}
  COMMAND ${Python_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/core/mpi/generate_api.py
          ${PROJECT_SOURCE_DIR}/core/mpi/functions.table ${_directory}
  DEPENDS ${PROJECT_SOURCE_DIR}/core/mpi/generate_api.py
          ${PROJECT_SOURCE_DIR}/core/mpi/mpi_functions.py
          ${PROJECT_SOURCE_DIR}/core/mpi/functions.table
  COMMENT "Declaring the functions of MPI"
  VERBATIM)
add_custom_target(sesame_mpi_generated DEPENDS ${SESAME_MPI_GENERATED})
