#include "core/mpi/testing/simulated_job.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/check.h"
#include "core/machine/machine.h"
#include "core/mpi/api.h"
#include "core/mpi/objects/callbacks.h"

namespace sesame::mpi {
namespace {

using OpFunction = testing::OpFunction;
using CopyFunction = int(int object, int keyval, void* extra, void* value, void* copy, int* keep);
using DeleteFunction = int(int object, int keyval, void* value, void* extra);
using ErrorFunction = void(int* object, int* error, ...);

int call_errhandler(const ProxiedFunction& function, int object, int error) {
  reinterpret_cast<ErrorFunction*>(function.function)(&object, &error);
  return error;
}

const Callbacks kTestCallbacks = {
    .error_code = [](int error) { return error; },
    .invoke_op =
        [](const ProxiedFunction& function, CallbackKind, const void* in, void* inout, Count count,
           Datatype datatype) {
          reinterpret_cast<OpFunction*>(function.function)(in, inout, count, datatype);
        },
    .copy_attribute =
        [](const ProxiedFunction& function, AttributeOwner, int object, int keyval, void* extra,
           AttributeType, void* value, void** copy, bool* keep) {
          *keep = false;
          if (function.function == nullptr) return MPI_SUCCESS;
          int flag = 0;
          const int error = reinterpret_cast<CopyFunction*>(function.function)(
              object, keyval, extra, value, copy, &flag);
          *keep = flag != 0;
          return error;
        },
    .delete_attribute =
        [](const ProxiedFunction& function, AttributeOwner, int object, int keyval, void* extra,
           AttributeType, void* value) {
          if (function.function == nullptr) return MPI_SUCCESS;
          return reinterpret_cast<DeleteFunction*>(function.function)(object, keyval, value, extra);
        },
    .comm_errhandler = call_errhandler,
    .win_errhandler = call_errhandler,
    .file_errhandler = [](const ProxiedFunction&, File, int error) { return error; },
    .session_errhandler = call_errhandler,
    .datarep_convert =
        [](const Conversion& c) {
          using Convert = int(void*, Datatype, Count, void*, Offset, void*);
          return reinterpret_cast<Convert*>(c.function)(c.user_buffer, c.datatype, c.count,
                                                        c.file_buffer, c.position, c.extra_state);
        },
    .datarep_extent =
        [](Function function, Datatype datatype, Aint* extent, void* extra_state) {
          using Extent = int(Datatype, Aint*, void*);
          return reinterpret_cast<Extent*>(function)(datatype, extent, extra_state);
        },
    .grequest_query = [](Function, CallbackKind, void*, Status*) { return MPI_SUCCESS; },
    .grequest_free =
        [](Function function, CallbackKind, void* extra_state) {
          return reinterpret_cast<int (*)(void*)>(function)(extra_state);
        },
    .grequest_cancel = [](Function, CallbackKind, void*, bool) { return MPI_SUCCESS; },
};

}  // namespace

const Callbacks& callbacks() { return kTestCallbacks; }

namespace testing {

const char* const kCrossbar = R"([network]
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "300 ns"
receive_overhead = "400 ns"
gap = "100 ns"
[topology]
kind = "crossbar"
)";

const char* const kCrossbarWithRendezvous = R"([network]
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "300 ns"
receive_overhead = "400 ns"
gap = "100 ns"
eager_limit = "1000 B"
[[network.segment]]
up_to = "1000 B"
[[network.segment]]
latency = "5 us"
[topology]
kind = "crossbar"
)";

namespace {

const char* const kInsideNode = "[node.network]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n";

machine::Machine make_machine(int ranks, const std::string& network, int cores) {
  const std::string text =
      "name = \"test\"\nnodes = " + std::to_string((ranks + cores - 1) / cores) +
      "\n[node]\ncores = " + std::to_string(cores) + "\n" +
      (cores > 1 && !network.contains("[node.network]") ? kInsideNode : "") + network;
  Result<machine::Machine> machine = machine::parse_machine(text, "test.toml");
  if (!machine) std::fprintf(stderr, "%s\n", machine.error().to_string().c_str());
  CHECK(machine);
  return std::move(*machine);
}

network::Network make_network(const machine::Machine& machine, int ranks) {
  Result<network::Network> made = network::Network::create(machine, ranks);
  CHECK(made);
  return std::move(*made);
}

}  // namespace

struct Run {
  const std::function<void(int)>* body;
  pdes::StackPool* stacks;
  int* ended;
  SimTime end;
  std::string aborted_because;
};

namespace {

Run* current = nullptr;
std::vector<std::string> warned;

void run_rank(pdes::Fiber* fiber) {
  auto* strand = static_cast<Strand*>(fiber);
  Rank& rank = *strand->rank;
  if (!rank.initialized) CHECK(Init(nullptr, nullptr) == MPI_SUCCESS);
  (*current->body)(rank.id);
  current->end = later(current->end, strand->now);
  ++*current->ended;
  rank.world.executive.finish([](pdes::Fiber* gone) { current->stacks->give_back(gone->stack()); });
}

}  // namespace

SimulatedJob::SimulatedJob(int ranks, const std::string& network, int cores)
    : machine_(make_machine(ranks, network, cores)), world_(make_network(machine_, ranks), ranks) {
  world_.share_network(machine_);
  world_.meter.configure({.mode = ComputeMode::kNone, .fixed = SimTime::zero()});
  const char* collectives = std::getenv("SESAME_TEST_COLLECTIVES");
  world_.open_mpi_collectives = collectives != nullptr && std::string(collectives) == "openmpi";
  world_.hooks.node_name = [](int) { return "node"; };
  warned.clear();
  world_.hooks.warn = [](const std::string& text) { warned.push_back(text); };
  world_.hooks.abort_job = [](int, const std::string& why) {
    current->aborted_because = why;
    this_rank().world.executive.stop();
  };
}

SimulatedJob::~SimulatedJob() = default;

const std::vector<std::string>& SimulatedJob::warnings() const { return warned; }

void SimulatedJob::run_until_end(Run& run) {
  current = &run;
  ended_ = 0;
  for (const auto& rank : world_.ranks) {
    rank->main.prepare(*stacks_.take(), run_rank);
    world_.executive.make_ready(rank->main);
  }
  world_.executive.run();
  current = nullptr;
}

SimTime SimulatedJob::run(const std::function<void(int rank)>& body) {
  Run run{&body, &stacks_, &ended_, SimTime::zero(), {}};
  run_until_end(run);
  if (!run.aborted_because.empty()) {
    std::fprintf(stderr, "the job was aborted: %s\n", run.aborted_because.c_str());
  }
  CHECK(ended_ == world_.size());  // otherwise some ranks are blocked
  return run.end;
}

std::string SimulatedJob::run_until_abort(const std::function<void(int rank)>& body) {
  Run run{&body, &stacks_, &ended_, SimTime::zero(), {}};
  run_until_end(run);
  return run.aborted_because;
}

Op make_op(OpFunction* function, bool commutative) {
  Op op = MPI_OP_NULL;
  CHECK(Op_create(reinterpret_cast<Function>(function), CallbackKind::kCLargeCount,
                  commutative ? 1 : 0, &op) == MPI_SUCCESS);
  return op;
}

}  // namespace testing
}  // namespace sesame::mpi
