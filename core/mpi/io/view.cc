// File views and queries about them (MPI 4.1, 14.3, 14.5).
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/collectives/barrier.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/hints.h"
#include "core/mpi/io/io_list.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/io/seek.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

int find_committed_type(Datatype datatype, const char* what, DatatypeRef* type) {
  const DatatypeObject* object = this_rank().datatypes.find(datatype);
  if (object == nullptr || !object->is_committed()) {
    return fail(MPI_ERR_TYPE,
                std::string("the ") + what +
                    (object == nullptr ? " is no datatype, or it was freed" : " is not committed"));
  }
  *type = DatatypeRef(object);
  return MPI_SUCCESS;
}

// MPI requires that offsets in a view are not negative and do not decrease, and that no byte occurs
// twice if the file can be written. MPI defines no error class for this; the class is MPICH's.
int check_displacements(const DatatypeObject& type, const char* what, bool writable) {
  if (type.size() == 0) return MPI_SUCCESS;
  if (type.true_lb() < 0) {
    return fail(MPI_ERR_IO, std::string("the ") + what + " has negative displacements");
  }
  ByteRangeCursor cursor(type, 1);
  ByteRange run;
  ByteRange last{0, 0};
  while (cursor.next(&run)) {
    if (run.offset < last.offset) {
      return fail(MPI_ERR_IO, std::string("the displacements of the ") + what + " decrease");
    }
    if (writable && run.offset < last.offset + last.length) {
      return fail(MPI_ERR_IO, std::string("the file can be written, and the ") + what +
                                  " has the same bytes twice");
    }
    last = run;
  }
  return MPI_SUCCESS;
}

int build_view(const FileObject& file, Offset disp, Datatype etype, Datatype filetype,
               const char* datarep, FileView* view) {
  const bool current = disp == MPI_DISPLACEMENT_CURRENT;
  const bool sequential = (file.amode & MPI_MODE_SEQUENTIAL) != 0;
  if (current != sequential) {
    return fail(MPI_ERR_ARG, current ? "MPI_DISPLACEMENT_CURRENT is for sequential files only"
                                     : "a sequential file requires MPI_DISPLACEMENT_CURRENT");
  }
  if (!current && disp < 0) {
    return fail(MPI_ERR_ARG, "the displacement is negative: " + std::to_string(disp));
  }
  view->displacement = current ? byte_offset(file.view, file.shared->shared_position) : disp;
  MPI_TRY(find_committed_type(etype, "elementary type", &view->etype));
  MPI_TRY(find_committed_type(filetype, "file type", &view->filetype));
  const Count item = view->etype->size();
  if (item == 0 ? view->filetype->size() != 0 : view->filetype->size() % item != 0) {
    return fail(MPI_ERR_ARG, "the file type is " + std::to_string(view->filetype->size()) +
                                 " bytes, no multiple of the elementary type of " +
                                 std::to_string(item) + " bytes");
  }
  const bool writable = (file.amode & MPI_MODE_RDONLY) == 0;
  MPI_TRY(check_displacements(*view->etype, "elementary type", writable));
  MPI_TRY(check_displacements(*view->filetype, "file type", writable));
  view->representation =
      datarep == nullptr ? nullptr
                         : find_representation(file_tables(this_rank()).representations, datarep);
  if (view->representation == nullptr) {
    return fail(
        MPI_ERR_UNSUPPORTED_DATAREP,
        "there is no data representation '" + std::string(datarep == nullptr ? "" : datarep) + "'");
  }
  MPI_TRY(stored_type(*view->representation, view->etype, &view->stored_etype));
  return stored_type(*view->representation, view->filetype, &view->stored_filetype);
}

// Gives the program a handle of the type: that of a predefined type itself, otherwise that of a
// duplicate, which the program frees.
int publish_type(const DatatypeObject& type, Datatype* handle) {
  if (type.is_predefined()) {
    *handle = type.handle();
    return MPI_SUCCESS;
  }
  DatatypeTable& table = this_rank().datatypes;
  MPI_TRY(type_dup(table, type.handle(), handle));
  return type_commit(table, handle);
}

int check_explicit(const FileObject& file) {
  if ((file.amode & MPI_MODE_SEQUENTIAL) == 0) return MPI_SUCCESS;
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              "a file opened with MPI_MODE_SEQUENTIAL has its shared pointer only");
}

}  // namespace

// Resets both pointers. No rank may use them before all ranks have set the new view.
int File_set_view(File fh, Offset disp, Datatype etype, Datatype filetype, const char* datarep,
                  Info info) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  FileView view;
  MPI_TRY(build_view(*file, disp, etype, filetype, datarep, &view));
  if (storage::FileCallRecord* record = begin_file_record(*file))
    record->offset = view.displacement;
  MPI_TRY(enter_collective(*file));
  return run_collective(*file->comm, [&](Transfer& transfer) {
    MPI_TRY(collectives::barrier(transfer));
    file->view = std::move(view);
    file->position = 0;
    file->shared->shared_position = 0;
    apply_file_hints(*file, hints);
    return collectives::barrier(transfer);
  });
}

int File_get_view(File fh, Offset* disp, Datatype* etype, Datatype* filetype, char* datarep) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(disp, "disp"));
  MPI_TRY(check_out(etype, "etype"));
  MPI_TRY(check_out(filetype, "filetype"));
  MPI_TRY(check_out(datarep, "datarep"));
  *disp = file->view.displacement;
  MPI_TRY(publish_type(*file->view.etype, etype));
  MPI_TRY(publish_type(*file->view.filetype, filetype));
  std::strcpy(datarep, file->view.representation->name.c_str());
  return MPI_SUCCESS;
}

int File_get_byte_offset(File fh, Offset offset, Offset* disp) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_explicit(*file));
  MPI_TRY(check_out(disp, "disp"));
  if (offset < 0) return fail(MPI_ERR_ARG, "the offset is negative: " + std::to_string(offset));
  *disp = byte_offset(file->view, offset);
  return MPI_SUCCESS;
}

int File_get_type_extent(File fh, Datatype datatype, Count* extent) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(extent, "extent"));
  const DatatypeObject* type = this_rank().datatypes.find(datatype);
  if (type == nullptr) return fail(MPI_ERR_TYPE, "no such datatype, or it was freed");
  DatatypeRef stored;
  MPI_TRY(stored_type(*file->view.representation, DatatypeRef(type), &stored));
  *extent = stored->extent();
  return MPI_SUCCESS;
}

int File_seek(File fh, Offset offset, int whence) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_explicit(*file));
  MPI_TRY(seek_target(*file, file->position, offset, whence, &file->position));
  if (storage::FileCallRecord* record = begin_file_record(*file))
    record->offset = byte_offset(file->view, file->position);
  return MPI_SUCCESS;
}

int File_get_position(File fh, Offset* offset) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_explicit(*file));
  MPI_TRY(check_out(offset, "offset"));
  *offset = file->position;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
