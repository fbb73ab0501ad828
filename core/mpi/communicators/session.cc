// MPI sessions: process sets, and communicators made from groups.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/communicators/predefined.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/objects/session.h"

namespace sesame::mpi {
namespace {

constexpr const char* kSets[] = {"mpi://WORLD", "mpi://SELF"};

// The members of a process set, or null.
MembersRef members_of_set(Rank& rank, const char* name) {
  if (name == nullptr) return nullptr;
  if (strcasecmp(name, kSets[0]) == 0) return rank.objects.world->local;
  if (strcasecmp(name, kSets[1]) == 0) return rank.objects.self->local;
  return nullptr;
}

int no_such_set(const char* name) {
  return fail(MPI_ERR_ARG, "there is no process set '" + std::string(name != nullptr ? name : "") +
                               "', only mpi://WORLD and mpi://SELF");
}

// The tag of a call, from its string tag: calls with different string tags may be in progress on
// the same ranks at the same time.
int tag_of_text(const char* text) {
  uint32_t hash = 2166136261u;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619u;
  return static_cast<int>(hash & 0x0fffffff);
}

int check_string_tag(const char* text) {
  if (text == nullptr) return fail(MPI_ERR_ARG, "the string tag is a null pointer");
  if (std::strlen(text) < MPI_MAX_STRINGTAG_LEN) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "the string tag is longer than MPI_MAX_STRINGTAG_LEN");
}

void set_errhandler(CommObject& comm, ErrhandlerObject* errhandler) {
  retain(errhandler);
  release(comm.errhandler);
  comm.errhandler = errhandler;
}

int check_membership(const GroupObject& group) {
  if (group.my_rank != MPI_UNDEFINED) return MPI_SUCCESS;
  return fail(MPI_ERR_GROUP, "the calling rank is not in the group");
}

// Checks the level of thread support that the program asks for in MPI_Session_init.
int check_thread_level(const InfoObject* hints) {
  const std::string* level = hints != nullptr ? hints->find("thread_level") : nullptr;
  if (level == nullptr) return MPI_SUCCESS;
  for (const char* known : {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                            "MPI_THREAD_MULTIPLE"}) {
    if (*level == known) return MPI_SUCCESS;
  }
  return fail(MPI_ERR_INFO_VALUE, "there is no thread level '" + *level + "'");
}

int init_session(Info info, ErrhandlerObject* handler, Session* session) {
  MPI_TRY(check_out(session, "session"));
  *session = MPI_SESSION_NULL;
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_thread_level(hints));
  Rank& rank = this_rank();
  // Process sets use the lists of ranks of the two predefined communicators.
  create_world_communicators(rank);
  auto* object = new SessionObject;
  retain(handler);
  object->errhandler = handler;
  object->info = new InfoObject;
  if (hints != nullptr) object->info->entries = hints->entries;
  object->info->set("thread_level", "MPI_THREAD_FUNNELED");
  object->handle = rank.objects.sessions.add(object);
  *session = object->handle;
  return MPI_SUCCESS;
}

// There is no communicator yet, so messages are addressed by the ranks' numbers in the run.
int create_from_group(Group group, const char* stringtag, Info info, ErrhandlerObject* handler,
                      Comm* newcomm) {
  GroupObject* members;
  MPI_TRY(check_group(group, &members));
  MPI_TRY(check_string_tag(stringtag));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  if (group == MPI_GROUP_EMPTY) return MPI_SUCCESS;
  MPI_TRY(check_membership(*members));
  Rank& rank = this_rank();
  Transfer transfer = universe_transfer(rank, subset_tag(tag_of_text(stringtag)));
  ControlGroup control(transfer, members->members, members->my_rank);
  const uint32_t context = agree_on_context(
      rank, kIntraContexts, {}, [&control](std::span<int> values) { control.maximum(values); });
  CommObject* comm = add_intra(rank, nullptr, members->members, context);
  set_errhandler(*comm, handler);
  *newcomm = comm->handle;
  return MPI_SUCCESS;
}

int create_from_groups(Group local_group, int local_leader, Group remote_group, int remote_leader,
                       const char* stringtag, Info info, ErrhandlerObject* handler,
                       Comm* newintercomm) {
  GroupObject* local;
  GroupObject* remote;
  MPI_TRY(check_group(local_group, &local));
  MPI_TRY(check_group(remote_group, &remote));
  MPI_TRY(check_string_tag(stringtag));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(newintercomm, "newintercomm"));
  *newintercomm = MPI_COMM_NULL;
  if (local_group == MPI_GROUP_EMPTY || remote_group == MPI_GROUP_EMPTY) return MPI_SUCCESS;
  MPI_TRY(check_membership(*local));
  if (local_leader < 0 || local_leader >= local->members->size() || remote_leader < 0 ||
      remote_leader >= remote->members->size()) {
    return fail(MPI_ERR_RANK, "a leader's rank is not in its group");
  }
  Rank& rank = this_rank();
  Transfer transfer = universe_transfer(rank, subset_tag(tag_of_text(stringtag)));
  ControlGroup control(transfer, local->members, local->my_rank);
  const int other_leader = (*remote->members)[remote_leader];
  const uint32_t context = agree_on_context(rank, kInterContexts, {}, [&](std::span<int> values) {
    control.maximum(values);
    std::vector<int> greater(values.begin(), values.end());
    if (local->my_rank == local_leader) {
      const std::vector<int> theirs = exchange_lists(transfer, greater, other_leader);
      for (size_t i = 0; i < theirs.size(); ++i) greater[i] = std::max(greater[i], theirs[i]);
    }
    control.broadcast(greater, local_leader);
    std::copy(greater.begin(), greater.end(), values.begin());
  });
  CommObject* comm = add_inter(rank, nullptr, local->members, remote->members, context);
  set_errhandler(*comm, handler);
  *newintercomm = comm->handle;
  return MPI_SUCCESS;
}

}  // namespace

int Session_init(Info info, Errhandler errhandler, Session* session) {
  ErrhandlerObject* handler = nullptr;
  int error = check_errhandler(errhandler, ErrhandlerObject::Kind::kSession, &handler);
  if (error == MPI_SUCCESS) error = init_session(info, handler, session);
  return error == MPI_SUCCESS ? error
                              : raise_with(handler, MPI_SESSION_NULL, error, "MPI_Session_init");
}

int Session_finalize(Session* session) {
  MPI_TRY(check_out(session, "session"));
  SessionObject* object;
  MPI_TRY(check_session(*session, &object));
  release(this_rank().objects.sessions.remove(*session));
  *session = MPI_SESSION_NULL;
  return MPI_SUCCESS;
}

int Session_get_info(Session session, Info* info_used) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  MPI_TRY(check_out(info_used, "info_used"));
  *info_used = publish_info(this_rank(), object->info);
  return MPI_SUCCESS;
}

int Session_get_num_psets(Session session, Info info, int* npset_names) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(npset_names, "npset_names"));
  *npset_names = static_cast<int>(std::size(kSets));
  return MPI_SUCCESS;
}

// `pset_len` includes the terminating null character; if it is 0, only the length is returned.
int Session_get_nth_pset(Session session, Info info, int n, int* pset_len, char* pset_name) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(pset_len, "pset_len"));
  if (n < 0 || n >= static_cast<int>(std::size(kSets))) {
    return fail(MPI_ERR_ARG, "there is no process set number " + std::to_string(n));
  }
  const std::string name = kSets[n];
  if (*pset_len > 0) {
    MPI_TRY(check_out(pset_name, "pset_name"));
    const size_t length = std::min(name.size(), static_cast<size_t>(*pset_len) - 1);
    std::memcpy(pset_name, name.data(), length);
    pset_name[length] = '\0';
  }
  *pset_len = static_cast<int>(name.size()) + 1;
  return MPI_SUCCESS;
}

int Session_get_pset_info(Session session, const char* pset_name, Info* info) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  MPI_TRY(check_out(info, "info"));
  Rank& rank = this_rank();
  const MembersRef members = members_of_set(rank, pset_name);
  if (members == nullptr) return no_such_set(pset_name);
  InfoObject contents;
  contents.set("mpi_size", std::to_string(members->size()));
  *info = publish_info(rank, &contents);
  return MPI_SUCCESS;
}

int Group_from_session_pset(Session session, const char* pset_name, Group* newgroup) {
  SessionObject* object;
  MPI_TRY(check_session(session, &object));
  MPI_TRY(check_out(newgroup, "newgroup"));
  Rank& rank = this_rank();
  MembersRef members = members_of_set(rank, pset_name);
  if (members == nullptr) return no_such_set(pset_name);
  *newgroup = publish_group(rank, std::move(members));
  return MPI_SUCCESS;
}

// The error handler is that of the new communicator and applies to errors of the call itself.
int Comm_create_from_group(Group group, const char* stringtag, Info info, Errhandler errhandler,
                           Comm* newcomm) {
  ErrhandlerObject* handler = nullptr;
  int error = check_errhandler(errhandler, ErrhandlerObject::Kind::kComm, &handler);
  if (error == MPI_SUCCESS) error = create_from_group(group, stringtag, info, handler, newcomm);
  return error == MPI_SUCCESS
             ? error
             : raise_with(handler, MPI_COMM_NULL, error, "MPI_Comm_create_from_group");
}

int Intercomm_create_from_groups(Group local_group, int local_leader, Group remote_group,
                                 int remote_leader, const char* stringtag, Info info,
                                 Errhandler errhandler, Comm* newintercomm) {
  ErrhandlerObject* handler = nullptr;
  int error = check_errhandler(errhandler, ErrhandlerObject::Kind::kComm, &handler);
  if (error == MPI_SUCCESS) {
    error = create_from_groups(local_group, local_leader, remote_group, remote_leader, stringtag,
                               info, handler, newintercomm);
  }
  return error == MPI_SUCCESS
             ? error
             : raise_with(handler, MPI_COMM_NULL, error, "MPI_Intercomm_create_from_groups");
}

}  // namespace sesame::mpi
