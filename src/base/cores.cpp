#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <new>
#include <set>

#include "base/first_line.h"
#include "base/thread.h"

namespace weft {
namespace {

constexpr std::size_t cores_max = 1 << 20;
using Mask = std::vector<cpu_set_t>;

std::size_t bytes_of(const Mask& mask) { return mask.size() * sizeof(cpu_set_t); }

}  // namespace

// The kernel refuses a mask shorter than its own, and does not say how long that is.
std::vector<int> own_cores() {
    std::vector<int> cores;
    for (std::size_t count = CPU_SETSIZE; count <= cores_max; count *= 2) {
        Mask mask(count / CPU_SETSIZE);
        if (sched_getaffinity(0, bytes_of(mask), mask.data()) != 0) {
            if (errno == EINVAL) continue;
            break;
        }
        for (std::size_t core = 0; core < count; ++core) {
            if (CPU_ISSET_S(core, bytes_of(mask), mask.data()))
                cores.push_back(static_cast<int>(core));
        }
        break;
    }
    return cores;
}

// A thread that asks for all cores gets those of its cpuset.
std::vector<int> reachable_cores() {
    std::vector<int> cores = own_cores();
    // (Without a thread: its mask.)
    (void)run_in_thread([&] {
        try {
            Mask all(cores_max / CPU_SETSIZE);
            std::fill_n(reinterpret_cast<unsigned char*>(all.data()), bytes_of(all), 0xff);
            if (sched_setaffinity(0, bytes_of(all), all.data()) == 0) cores = own_cores();
        } catch (const std::bad_alloc&) {
            // (It would end the process.)
        }
    });
    return cores;
}

bool bind_to(const std::vector<int>& cores) {
    for (const int core : cores) {
        if (core >= 0 && core < static_cast<int>(cores_max)) continue;
        errno = EINVAL;
        return false;
    }
    const int last = cores.empty() ? 0 : *std::ranges::max_element(cores);
    Mask mask(static_cast<std::size_t>(last) / CPU_SETSIZE + 1);
    for (const int core : cores)
        CPU_SET_S(static_cast<std::size_t>(core), bytes_of(mask), mask.data());
    return sched_setaffinity(0, bytes_of(mask), mask.data()) == 0;
}

std::vector<int> siblings_of(int core) {
    const std::string list = first_line_of("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                                           "/topology/thread_siblings_list");
    return parse_cores(list).value_or(std::vector<int>{core});
}

// Each in turn takes its cores: free ones, or one whose owner finds another (Kuhn's matching).
bool are_enough(const std::vector<std::vector<int>>& sets, int each) {
    std::set<int> all;
    for (const std::vector<int>& cores : sets) all.insert(cores.begin(), cores.end());
    if (all.size() < sets.size() * static_cast<std::size_t>(each)) return false;
    std::map<int, std::size_t> owner;
    std::set<int> tried;
    const auto take = [&](const auto& self, std::size_t who) -> bool {
        for (const int core : sets[who])
            if (owner.emplace(core, who).second) return true;
        return std::ranges::any_of(sets[who], [&](int core) {
            if (!tried.insert(core).second || !self(self, owner.at(core))) return false;
            owner[core] = who;
            return true;
        });
    };
    for (std::size_t who = 0; who < sets.size(); ++who) {
        for (int i = 0; i < each; ++i) {
            tried.clear();
            if (!take(take, who)) return false;
        }
    }
    return true;
}

std::optional<std::vector<int>> parse_cores(std::string_view text) {
    std::vector<int> cores;
    const auto number = [&](int& value) {
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || value < 0 || value >= static_cast<int>(cores_max)) return false;
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        return true;
    };
    const auto skip = [&](char letter) {
        if (!text.starts_with(letter)) return false;
        text.remove_prefix(1);
        return true;
    };
    do {
        int first = 0;
        if (!number(first)) return std::nullopt;
        int last = first;
        if (skip('-') && (!number(last) || last < first)) return std::nullopt;
        for (int core = first; core <= last; ++core) cores.push_back(core);
    } while (skip(','));
    if (!text.empty()) return std::nullopt;
    std::ranges::sort(cores);
    const auto repeated = std::ranges::unique(cores);
    cores.erase(repeated.begin(), repeated.end());
    return cores;
}

std::string cores_text(const std::vector<int>& cores) {
    std::string text;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        std::size_t last = i;
        while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(cores[i]);
        if (last > i) text += "-" + std::to_string(cores[last]);
        i = last;
    }
    return text;
}

}  // namespace weft
