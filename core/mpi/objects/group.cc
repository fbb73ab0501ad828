#include "core/mpi/objects/group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {
namespace {

std::string rank_text(int rank, int size) {
  return "rank " + std::to_string(rank) + " is not in the group, which has " +
         std::to_string(size) + " ranks";
}

int check_groups(Group group1, Group group2, GroupObject** one, GroupObject** two) {
  MPI_TRY(check_group(group1, one));
  return check_group(group2, two);
}

// Checks a list of ranks of the group: all must exist, none may be listed twice. Sets (*chosen)[r]
// for each rank r of the list.
int check_ranks(const GroupObject& group, const std::vector<int>& ranks,
                std::vector<bool>* chosen) {
  chosen->assign(static_cast<size_t>(group.members->size()), false);
  for (int rank : ranks) {
    if (rank < 0 || rank >= group.members->size()) {
      return fail(MPI_ERR_RANK, rank_text(rank, group.members->size()));
    }
    std::vector<bool>::reference seen = (*chosen)[static_cast<size_t>(rank)];
    if (seen) return fail(MPI_ERR_RANK, "rank " + std::to_string(rank) + " is listed twice");
    seen = true;
  }
  return MPI_SUCCESS;
}

int copy_ranks(int n, const int* ranks, std::vector<int>* list) {
  if (n < 0) return fail(MPI_ERR_ARG, "the number of ranks is negative: " + std::to_string(n));
  if (n > 0 && ranks == nullptr) return fail(MPI_ERR_ARG, "the list of ranks is a null pointer");
  if (n > 0) list->assign(ranks, ranks + n);
  return MPI_SUCCESS;
}

// The ranks of (first, last, stride) triplets, in order.
int expand_ranges(const GroupObject& group, int n, int (*ranges)[3], std::vector<int>* list) {
  if (n < 0) return fail(MPI_ERR_ARG, "the number of ranges is negative: " + std::to_string(n));
  if (n > 0 && ranges == nullptr) return fail(MPI_ERR_ARG, "the list of ranges is a null pointer");
  const int size = group.members->size();
  for (int i = 0; i < n; ++i) {
    const auto [first, last, stride] = std::tuple(ranges[i][0], ranges[i][1], ranges[i][2]);
    if (first < 0 || first >= size) return fail(MPI_ERR_RANK, rank_text(first, size));
    if (stride == 0) return fail(MPI_ERR_ARG, "the stride of a range is 0");
    if (stride > 0 ? first > last : first < last) {
      return fail(MPI_ERR_ARG,
                  "the range from " + std::to_string(first) + " to " + std::to_string(last) +
                      " needs a stride of the other sign, got " + std::to_string(stride));
    }
    const long long steps = (static_cast<long long>(last) - first) / stride;
    for (long long step = 0; step <= steps; ++step) {
      const long long rank = first + step * stride;
      if (rank < 0 || rank >= size)
        return fail(MPI_ERR_RANK, rank_text(static_cast<int>(rank), size));
      list->push_back(static_cast<int>(rank));
    }
  }
  return MPI_SUCCESS;
}

int include(const GroupObject& group, const std::vector<int>& ranks, Group* newgroup) {
  std::vector<bool> chosen;
  MPI_TRY(check_ranks(group, ranks, &chosen));
  std::vector<int> members;
  members.reserve(ranks.size());
  for (int rank : ranks) members.push_back((*group.members)[rank]);
  ObjectOwner& owner = this_owner();
  *newgroup = publish_group(owner, owner.intern(std::move(members)));
  return MPI_SUCCESS;
}

int exclude(const GroupObject& group, const std::vector<int>& ranks, Group* newgroup) {
  std::vector<bool> chosen;
  MPI_TRY(check_ranks(group, ranks, &chosen));
  std::vector<int> members;
  for (int i = 0; i < group.members->size(); ++i) {
    if (!chosen[static_cast<size_t>(i)]) members.push_back((*group.members)[i]);
  }
  ObjectOwner& owner = this_owner();
  *newgroup = publish_group(owner, owner.intern(std::move(members)));
  return MPI_SUCCESS;
}

// Members of `from` that are (or are not) in `other`, in the order of `from`.
std::vector<int> select(const Members& from, const Members& other, bool in_other) {
  std::vector<int> chosen;
  for (int world_rank : from.world_ranks()) {
    if ((other.rank_of(world_rank) != MPI_UNDEFINED) == in_other) chosen.push_back(world_rank);
  }
  return chosen;
}

}  // namespace

int check_group(Group handle, GroupObject** group) {
  ObjectOwner& owner = this_owner();
  if (handle == MPI_GROUP_EMPTY) {
    GroupObject*& empty = owner.objects.empty_group;
    if (empty == nullptr) {
      empty = new GroupObject;
      empty->handle = MPI_GROUP_EMPTY;
      empty->members = owner.intern({});
    }
    *group = empty;
    return MPI_SUCCESS;
  }
  *group = owner.objects.groups.find(handle);
  if (*group != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_GROUP, handle == MPI_GROUP_NULL ? "the group is MPI_GROUP_NULL"
                                                      : "no such group, or it was freed");
}

Group publish_group(ObjectOwner& owner, MembersRef members) {
  if (members->size() == 0) return MPI_GROUP_EMPTY;
  auto* group = new GroupObject;
  group->my_rank = members->rank_of(owner.id);
  group->members = std::move(members);
  group->handle = owner.objects.groups.add(group);
  return group->handle;
}

int Group_size(Group group, int* size) {
  GroupObject* object;
  MPI_TRY(check_group(group, &object));
  MPI_TRY(check_out(size, "size"));
  *size = object->members->size();
  return MPI_SUCCESS;
}

int Group_rank(Group group, int* rank) {
  GroupObject* object;
  MPI_TRY(check_group(group, &object));
  MPI_TRY(check_out(rank, "rank"));
  *rank = object->my_rank;
  return MPI_SUCCESS;
}

int Group_free(Group* group) {
  MPI_TRY(check_out(group, "group"));
  GroupObject* object;
  MPI_TRY(check_group(*group, &object));
  if (*group != MPI_GROUP_EMPTY) release(this_owner().objects.groups.remove(*group));
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

int Group_compare(Group group1, Group group2, int* result) {
  GroupObject *one, *two;
  MPI_TRY(check_groups(group1, group2, &one, &two));
  MPI_TRY(check_out(result, "result"));
  const Members& a = *one->members;
  const Members& b = *two->members;
  if (&a == &b || a.world_ranks() == b.world_ranks()) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  const bool same_set =
      a.size() == b.size() && std::all_of(a.world_ranks().begin(), a.world_ranks().end(),
                                          [&b](int r) { return b.rank_of(r) != MPI_UNDEFINED; });
  *result = same_set ? MPI_SIMILAR : MPI_UNEQUAL;
  return MPI_SUCCESS;
}

int Group_translate_ranks(Group group1, int n, const int* ranks1, Group group2, int* ranks2) {
  GroupObject *one, *two;
  MPI_TRY(check_groups(group1, group2, &one, &two));
  if (n < 0) return fail(MPI_ERR_ARG, "the number of ranks is negative: " + std::to_string(n));
  if (n == 0) return MPI_SUCCESS;
  MPI_TRY(check_out(ranks1, "ranks1"));
  MPI_TRY(check_out(ranks2, "ranks2"));
  const int size = one->members->size();
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks1[i] < 0 || ranks1[i] >= size) return fail(MPI_ERR_RANK, rank_text(ranks1[i], size));
    ranks2[i] = two->members->rank_of((*one->members)[ranks1[i]]);
  }
  return MPI_SUCCESS;
}

int Group_incl(Group group, int n, const int* ranks, Group* newgroup) {
  GroupObject* object;
  MPI_TRY(check_group(group, &object));
  MPI_TRY(check_out(newgroup, "newgroup"));
  std::vector<int> list;
  MPI_TRY(copy_ranks(n, ranks, &list));
  return include(*object, list, newgroup);
}

int Group_excl(Group group, int n, const int* ranks, Group* newgroup) {
  GroupObject* object;
  MPI_TRY(check_group(group, &object));
  MPI_TRY(check_out(newgroup, "newgroup"));
  std::vector<int> list;
  MPI_TRY(copy_ranks(n, ranks, &list));
  return exclude(*object, list, newgroup);
}

int Group_range_incl(Group group, int n, int (*ranges)[3], Group* newgroup) {
  GroupObject* object;
  MPI_TRY(check_group(group, &object));
  MPI_TRY(check_out(newgroup, "newgroup"));
  std::vector<int> list;
  MPI_TRY(expand_ranges(*object, n, ranges, &list));
  return include(*object, list, newgroup);
}

int Group_range_excl(Group group, int n, int (*ranges)[3], Group* newgroup) {
  GroupObject* object;
  MPI_TRY(check_group(group, &object));
  MPI_TRY(check_out(newgroup, "newgroup"));
  std::vector<int> list;
  MPI_TRY(expand_ranges(*object, n, ranges, &list));
  return exclude(*object, list, newgroup);
}

int Group_union(Group group1, Group group2, Group* newgroup) {
  GroupObject *one, *two;
  MPI_TRY(check_groups(group1, group2, &one, &two));
  MPI_TRY(check_out(newgroup, "newgroup"));
  std::vector<int> members = one->members->world_ranks();
  const std::vector<int> added = select(*two->members, *one->members, false);
  members.insert(members.end(), added.begin(), added.end());
  ObjectOwner& owner = this_owner();
  *newgroup = publish_group(owner, owner.intern(std::move(members)));
  return MPI_SUCCESS;
}

int Group_intersection(Group group1, Group group2, Group* newgroup) {
  GroupObject *one, *two;
  MPI_TRY(check_groups(group1, group2, &one, &two));
  MPI_TRY(check_out(newgroup, "newgroup"));
  ObjectOwner& owner = this_owner();
  *newgroup = publish_group(owner, owner.intern(select(*one->members, *two->members, true)));
  return MPI_SUCCESS;
}

int Group_difference(Group group1, Group group2, Group* newgroup) {
  GroupObject *one, *two;
  MPI_TRY(check_groups(group1, group2, &one, &two));
  MPI_TRY(check_out(newgroup, "newgroup"));
  ObjectOwner& owner = this_owner();
  *newgroup = publish_group(owner, owner.intern(select(*one->members, *two->members, false)));
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
