#include "communicator/request.h"

namespace weft {

Request::Request(CachedSchedule& prepared) : Run(prepared.schedule), home(prepared) {
    if (prepared.is_of_messages) make_message();
}

std::string name_of_message(bool sends, Rank peer, int tag) {
    const std::string other = peer == any_source ? "any rank" : "rank " + std::to_string(peer);
    return (sends ? "send to " : "receive from ") + other + " with tag " + std::to_string(tag);
}

std::string Request::name() const {
    if (const TaggedMessage* const own = message()) {
        const std::string words = name_of_message(own->sends, own->peer, own->tag());
        return is_persistent() ? "persistent " + words : words;
    }
    if (home.is_own) return "schedule";
    const char* collective = collective_name(home.signature.collective);
    return is_persistent() ? std::string("persistent ") + collective : collective;
}

std::string Request::awaited() const {
    std::string text;
    if (message() != nullptr && message()->known_peer() == any_source)
        return "waits for a message from any rank";
    const auto late = [&](bool sends) {
        std::vector<Rank> ranks = late_peers(sends);
        for (Rank& rank : ranks) rank = name_of(stream()->group(), rank).rank;
        return ranks;
    };
    const std::vector<Rank> senders = late(/*sends=*/false);
    const std::vector<Rank> receivers = late(/*sends=*/true);
    if (!senders.empty()) text += "waits for messages from " + listed(senders);
    if (!senders.empty() && !receivers.empty()) text += " and ";
    if (!receivers.empty()) text += "has messages for " + listed(receivers) + " to take";
    return text;
}

std::string listed(const std::vector<Rank>& ranks) {
    std::string list = ranks.size() > 1 ? "ranks " : "rank ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i > 0) list += ", ";
        if (i == listed_max) return list + "...";
        list += std::to_string(ranks[i]);
    }
    return list;
}

std::string listed_processes(std::vector<Rank> numbers, Rank job_ranks) {
    const auto first = std::ranges::lower_bound(numbers, job_ranks);
    const auto others = numbers.end() - first;
    numbers.erase(first, numbers.end());
    std::string list = numbers.empty() ? "" : listed(numbers) + " of the job";
    if (!numbers.empty() && others > 0) list += " and ";
    if (others == 1) list += "a process of another job";
    if (others > 1) list += std::to_string(others) + " processes of other jobs";
    return list;
}

CachedSchedule::~CachedSchedule() {
    for (const auto& request : requests) table.remove(request->place);
}

Request& CachedSchedule::take() {
    if (!free) {
        if (requests.size() == requests.capacity()) requests.reserve(2 * requests.size() + 1);
        auto request = std::make_unique<Request>(*this);
        request->place = table.add(request.get());
        free = request.get();
        requests.push_back(std::move(request));
    }
    Request& request = *free;
    free = request.next_free;
    ++taken;
    return request;
}

std::int64_t CachedSchedule::memory_bytes() const {
    std::int64_t bytes = schedule.memory_bytes() + (plan.tasks ? plan.tasks->memory_bytes() : 0) +
                         static_cast<std::int64_t>(arrays.capacity() * sizeof(std::int64_t)) +
                         buffers.memory_bytes();
    for (const auto& request : requests) bytes += request->memory_bytes();
    return bytes;
}

void CachedSchedule::give_back(Request& request) {
    table.renew(request.place);
    request.next_free = free;
    free = &request;
    --taken;
}

}  // namespace weft
