# What BT, SP and LU have in common. Each of their lists includes this file; the first one counts.
include_guard(GLOBAL)
add_library(workload_cfd STATIC
  ${CMAKE_CURRENT_LIST_DIR}/domain.cc ${CMAKE_CURRENT_LIST_DIR}/equations.cc
  ${CMAKE_CURRENT_LIST_DIR}/subdomain.cc ${CMAKE_CURRENT_LIST_DIR}/residual.cc
  ${CMAKE_CURRENT_LIST_DIR}/verification.cc)
target_link_libraries(workload_cfd PUBLIC workload_kit)
# Speed: full optimisation, also where the build type asks for less.
target_compile_options(workload_cfd PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
