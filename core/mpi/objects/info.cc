#include "core/mpi/objects/info.h"

#include <algorithm>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {
namespace {

int check_key(const char* key) {
  if (key == nullptr) return fail(MPI_ERR_INFO_KEY, "the key is a null pointer");
  const size_t length = std::strlen(key);
  if (length == 0) return fail(MPI_ERR_INFO_KEY, "the key is empty");
  if (length <= MPI_MAX_INFO_KEY) return MPI_SUCCESS;
  return fail(MPI_ERR_INFO_KEY, "the key has " + std::to_string(length) + " characters, at most " +
                                    std::to_string(MPI_MAX_INFO_KEY) + " are allowed");
}

// The same as check_info(), but MPI_INFO_NULL is an error.
int check_object(Info handle, InfoObject** info) {
  MPI_TRY(check_info(handle, info));
  if (*info != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_INFO, "the info is MPI_INFO_NULL");
}

int check_changeable(Info handle, InfoObject** info) {
  MPI_TRY(check_object(handle, info));
  if (handle != MPI_INFO_ENV) return MPI_SUCCESS;
  return fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed");
}

}  // namespace

InfoObject* find_info(ObjectOwner& owner, Info handle) {
  if (handle != MPI_INFO_ENV) return owner.objects.infos.find(handle);
  InfoObject*& environment = owner.objects.environment;
  if (environment == nullptr) {
    environment = new InfoObject;
    owner.describe_environment(*environment);
  }
  return environment;
}

int check_info(Info handle, InfoObject** info) {
  *info = nullptr;
  if (handle == MPI_INFO_NULL) return MPI_SUCCESS;
  *info = find_info(this_owner(), handle);
  return *info != nullptr ? MPI_SUCCESS : fail(MPI_ERR_INFO, "no such info, or it was freed");
}

Info publish_info(ObjectOwner& owner, const InfoObject* contents) {
  auto* info = new InfoObject;
  if (contents != nullptr) info->entries = contents->entries;
  return owner.objects.infos.add(info);
}

int Info_create(Info* info) {
  MPI_TRY(check_out(info, "info"));
  *info = publish_info(this_owner(), nullptr);
  return MPI_SUCCESS;
}

int Info_create_env(int argc, char** argv, Info* info) {
  MPI_TRY(check_out(info, "info"));
  ObjectOwner& owner = this_owner();
  InfoObject contents;
  if (argc > 0 && argv != nullptr && argv[0] != nullptr) {
    contents.set("command", argv[0]);
    std::string arguments;
    for (int i = 1; i < argc && argv[i] != nullptr; ++i) {
      if (i > 1) arguments += ' ';
      arguments += argv[i];
    }
    if (!arguments.empty()) contents.set("argv", arguments.substr(0, MPI_MAX_INFO_VAL - 1));
  }
  owner.describe_environment(contents);
  *info = publish_info(owner, &contents);
  return MPI_SUCCESS;
}

int Info_dup(Info info, Info* newinfo) {
  InfoObject* object;
  MPI_TRY(check_object(info, &object));
  MPI_TRY(check_out(newinfo, "newinfo"));
  *newinfo = publish_info(this_owner(), object);
  return MPI_SUCCESS;
}

int Info_free(Info* info) {
  MPI_TRY(check_out(info, "info"));
  InfoObject* object;
  MPI_TRY(check_changeable(*info, &object));
  release(this_owner().objects.infos.remove(*info));
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int Info_set(Info info, const char* key, const char* value) {
  InfoObject* object;
  MPI_TRY(check_changeable(info, &object));
  MPI_TRY(check_key(key));
  if (value == nullptr) return fail(MPI_ERR_INFO_VALUE, "the value is a null pointer");
  if (std::strlen(value) > MPI_MAX_INFO_VAL) {
    return fail(MPI_ERR_INFO_VALUE, "the value has " + std::to_string(std::strlen(value)) +
                                        " characters, at most " + std::to_string(MPI_MAX_INFO_VAL) +
                                        " are allowed");
  }
  object->set(key, value);
  return MPI_SUCCESS;
}

int Info_delete(Info info, const char* key) {
  InfoObject* object;
  MPI_TRY(check_changeable(info, &object));
  MPI_TRY(check_key(key));
  auto removed = std::find_if(object->entries.begin(), object->entries.end(),
                              [key](const auto& entry) { return entry.first == key; });
  if (removed == object->entries.end()) {
    return fail(MPI_ERR_INFO_NOKEY, "the info has no key '" + std::string(key) + "'");
  }
  object->entries.erase(removed);
  return MPI_SUCCESS;
}

int Info_get_nkeys(Info info, int* nkeys) {
  InfoObject* object;
  MPI_TRY(check_object(info, &object));
  MPI_TRY(check_out(nkeys, "nkeys"));
  *nkeys = static_cast<int>(object->entries.size());
  return MPI_SUCCESS;
}

int Info_get_nthkey(Info info, int n, char* key) {
  InfoObject* object;
  MPI_TRY(check_object(info, &object));
  MPI_TRY(check_out(key, "key"));
  if (n < 0 || n >= static_cast<int>(object->entries.size())) {
    return fail(MPI_ERR_ARG, "key " + std::to_string(n) + " of an info with " +
                                 std::to_string(object->entries.size()) + " keys");
  }
  std::strcpy(key, object->entries[static_cast<size_t>(n)].first.c_str());
  return MPI_SUCCESS;
}

int Info_get_valuelen(Info info, const char* key, int* valuelen, int* flag) {
  InfoObject* object;
  MPI_TRY(check_object(info, &object));
  MPI_TRY(check_key(key));
  MPI_TRY(check_out(flag, "flag"));
  const std::string* found = object->find(key);
  *flag = found != nullptr;
  if (found != nullptr && valuelen != nullptr) *valuelen = static_cast<int>(found->size());
  return MPI_SUCCESS;
}

int Info_get(Info info, const char* key, int valuelen, char* value, int* flag) {
  InfoObject* object;
  MPI_TRY(check_object(info, &object));
  MPI_TRY(check_key(key));
  MPI_TRY(check_out(flag, "flag"));
  if (valuelen < 0) {
    return fail(MPI_ERR_ARG, "the length for the value is negative: " + std::to_string(valuelen));
  }
  const std::string* found = object->find(key);
  *flag = found != nullptr;
  if (found == nullptr) return MPI_SUCCESS;
  MPI_TRY(check_out(value, "value"));
  const size_t length = std::min(found->size(), static_cast<size_t>(valuelen));
  std::memcpy(value, found->data(), length);
  value[length] = '\0';
  return MPI_SUCCESS;
}

// `buflen` counts the terminating null character, in and out.
int Info_get_string(Info info, const char* key, int* buflen, char* value, int* flag) {
  InfoObject* object;
  MPI_TRY(check_object(info, &object));
  MPI_TRY(check_key(key));
  MPI_TRY(check_out(buflen, "buflen"));
  MPI_TRY(check_out(flag, "flag"));
  if (*buflen < 0) {
    return fail(MPI_ERR_ARG, "the length of the buffer is negative: " + std::to_string(*buflen));
  }
  const std::string* found = object->find(key);
  *flag = found != nullptr;
  if (found == nullptr) return MPI_SUCCESS;
  if (*buflen > 0) {
    MPI_TRY(check_out(value, "value"));
    const size_t length = std::min(found->size(), static_cast<size_t>(*buflen) - 1);
    std::memcpy(value, found->data(), length);
    value[length] = '\0';
  }
  *buflen = static_cast<int>(found->size()) + 1;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
