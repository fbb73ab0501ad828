// Names, hints and the group of a window (MPI 4.1, sections 12.2.6, 12.2.7 and 8.4).
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {

int Win_get_group(Win win, Group* group) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_out(group, "group"));
  *group = publish_group(this_rank(), window->comm->local);
  return MPI_SUCCESS;
}

int Win_set_name(Win win, const char* win_name) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  if (win_name == nullptr) return fail(MPI_ERR_ARG, "the name is a null pointer");
  window->name.assign(win_name, strnlen(win_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int Win_get_name(Win win, char* win_name, int* resultlen) {
  MPI_TRY(check_out(win_name, "win_name"));
  MPI_TRY(check_out(resultlen, "resultlen"));
  if (win == MPI_WIN_NULL) {
    std::strcpy(win_name, "MPI_WIN_NULL");
  } else {
    WindowObject* window;
    MPI_TRY(check_window(win, &window));
    std::strcpy(win_name, window->name.c_str());
  }
  *resultlen = static_cast<int>(std::strlen(win_name));
  return MPI_SUCCESS;
}

int Win_set_info(Win win, Info info) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  apply_window_hints(*window, hints);
  return MPI_SUCCESS;
}

int Win_get_info(Win win, Info* info_used) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_out(info_used, "info_used"));
  *info_used = publish_info(this_rank(), &window->info);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
