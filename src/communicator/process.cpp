#include "communicator/process.h"

#include <numeric>

namespace weft {
namespace {

// Context 0 belongs to the executors.
constexpr std::uint32_t world_context = 1;

std::vector<Transport*> plain(const std::vector<std::unique_ptr<Transport>>& owned) {
    std::vector<Transport*> transports;
    for (const auto& transport : owned) transports.push_back(transport.get());
    return transports;
}

Group everybody(Rank ranks) {
    Group group;
    group.context = world_context;
    group.members.resize(static_cast<std::size_t>(ranks));
    std::iota(group.members.begin(), group.members.end(), 0);
    return group;
}

}  // namespace

Process::Process(Parts parts)
    : rank_(parts.rank),
      ranks_(parts.ranks),
      transports_(std::move(parts.transports)),
      selector_(std::move(parts.selector)),
      executor_(rank_, plain(transports_), std::move(parts.routes)),
      world_(*this, everybody(ranks_), rank_, "world"),
      world_place_(communicators_.add(&world_)),
      engine_(executor_, plain(transports_), parts.engine) {}

Status Process::refuse_outstanding() {
    if (executor_.active() == 0) return ok;
    std::string list;
    std::uint32_t listed = 0;
    for (Run* run = executor_.first_active(); run && listed < 4;
         run = Executor::next_active(*run)) {
        const Request& request = Request::of(*run);
        if (listed++ > 0) list += ", ";
        list += collective_name(request.home.signature.collective);
        list += " of " + std::to_string(request.home.signature.bytes) + " bytes on ";
        list += request.communicator->name();
    }
    if (executor_.active() > listed) list += ", ...";
    return failure(WEFT_REFUSED_OUTSTANDING, "%u operations are pending: %s", executor_.active(),
                   list.c_str());
}

}  // namespace weft
