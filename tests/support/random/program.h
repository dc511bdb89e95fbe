// Random programs as data. Everything follows from a case, so every rank has the same program, and a failure can be
// repeated.
//
// A program is a list of steps for all ranks. It stays valid if steps are removed: steps that need them
// are dropped as well (normalised()), and what is still pending is completed at the end. A rank never
// waits for an operation of a later step, so no program hangs by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "support/any_call.h"
#include "support/neighbors.h"
#include "support/random/arithmetic.h"

namespace weft::test::random {

// What a failure prints and WEFT_CASE repeats: "sim p=3 seed=0x2a operations=60 bytes_max=300000
// keep=1,5-7" (only these steps; without `keep` all).
struct Case {
    // sim, sim_fibers; threads, threads_tcp, threads_mixed or threads_mpi (support/thread_job.h); or for processes
    // (support/surroundings.h): shm, tcp, ... Or groups_shm, groups_tcp: for processes of several jobs.
    std::string transport = "sim";
    int ranks = 2;
    std::uint64_t seed = 0;
    int operations = 60;
    std::size_t bytes_max = 300'000;  // of a buffer
    bool keeps_all = true;
    std::vector<int> keep;  // ascending

    bool has_groups() const { return transport.starts_with("groups_"); }

    std::string text() const {
        char line[160];
        std::snprintf(line, sizeof line, "%s p=%d seed=0x%llx operations=%d bytes_max=%zu",
                      transport.c_str(), ranks, static_cast<unsigned long long>(seed), operations,
                      bytes_max);
        std::string all = line;
        for (std::size_t i = 0; i < keep.size(); ++i) {
            all += (i == 0 ? " keep=" : ",") + std::to_string(keep[i]);
            std::size_t last = i;
            while (last + 1 < keep.size() && keep[last + 1] == keep[last] + 1) ++last;
            if (last > i) all += "-" + std::to_string(keep[last]);
            i = last;
        }
        if (!keeps_all && keep.empty()) all += " keep=none";
        return all;
    }

    // False: the text is something else.
    static bool parse(const std::string& text, Case& c) {
        char name[16];
        unsigned long long seed = 0;
        int end = 0;
        if (std::sscanf(text.c_str(), "%15s p=%d seed=%llx operations=%d bytes_max=%zu%n", name,
                        &c.ranks, &seed, &c.operations, &c.bytes_max, &end) != 5) {
            return false;
        }
        c.transport = name;
        c.seed = seed;
        c.keep.clear();
        const std::size_t keep = text.find(" keep=", static_cast<std::size_t>(end));
        c.keeps_all = keep == std::string::npos;
        if (c.keeps_all) return true;
        std::istringstream ranges(text.substr(keep + 6));
        for (std::string range; std::getline(ranges, range, ',');) {
            int first = 0;
            int last = 0;
            const int numbers = std::sscanf(range.c_str(), "%d-%d", &first, &last);
            if (numbers < 1) continue;  // "none"
            for (int i = first; i <= (numbers == 2 ? last : first); ++i) c.keep.push_back(i);
        }
        return true;
    }
};

enum class Action : std::uint8_t {
    dup,
    split,
    topology,  // a communicator for collectives among neighbors
    group,     // one of some processes, by an out-of-band exchange
    free_comm,
    start,             // a nonblocking operation
    init,              // a persistent one
    message,           // a nonblocking send on one rank, its receive on another, or on the same
    start_persistent,  // several
    free_request,
    complete,
    engine,
    compute,
};

enum class SplitRule : std::uint8_t { modulo, divided, without, one, alone };

enum class Complete : std::uint8_t {
    wait,
    test,
    wait_until,
    waitall,
    waitall_until,
    testall,
    waitany,
    testany,
    waitsome,
    testsome,
};
inline constexpr const char* complete_names[] = {
    "wait",    "test",    "wait_until", "waitall",  "waitall_until",
    "testall", "waitany", "testany",    "waitsome", "testsome"};

// The communicators that every program has.
inline constexpr int world_id = 0;
inline constexpr int self_id = 1;

struct Step {
    int index = 0;  // in the program as it was generated
    Action action = Action::compute;
    int comm = world_id;        // parent, freed, or of the operation
    int made = -1;              // the new communicator, operation or persistent request
    std::vector<int> requests;  // for start_persistent, free_request: persistent operations
    // start, init
    Collective collective = Collective::barrier;
    std::size_t arithmetic = 0;  // for collectives that only move data, only the type counts
    std::size_t count = 0;
    int root = 0;  // modulo the size of the communicator
    bool in_place = false;
    bool types_differ = false;  // odd ranks describe the same data as bytes
    // message: `made` is the receive, and the next number the send. From member `root` to member
    // `parameter`, modulo the size of the communicator; `reversed`: of the two, the send first.
    int tag = 0;
    bool from_any = false;  // the receive does not name its source
    // split; topology: `parameter` is the kind (support/neighbors.h)
    SplitRule rule = SplitRule::modulo;
    int parameter = 0;
    bool reversed = false;
    // complete, engine, compute: what each rank does follows from `salt`
    Complete how = Complete::wait;
    std::uint32_t on = 0;  // ranks; of a group, its members
    std::uint64_t salt = 0;

    // A member's count, if blocks differ.
    std::size_t count_of(int member) const {
        return member % 3 == 0 ? count : member % 3 == 1 ? 0 : count / 2;
    }
    const Arithmetic& data() const { return arithmetics()[arithmetic]; }
    bool is_on(int rank) const { return (on >> rank & 1) != 0; }
    // The random numbers that only this rank draws in this step.
    Prng draws(int rank) const { return Prng(salt ^ static_cast<std::uint64_t>(rank + 1) << 32); }

    // -1: no communicator
    int color_of(int rank) const {
        switch (rule) {
            case SplitRule::modulo: return rank % parameter;
            case SplitRule::divided: return rank / parameter;
            case SplitRule::without: return rank == parameter ? -1 : 0;
            case SplitRule::one: return 0;
            case SplitRule::alone: return rank;
        }
        return 0;
    }

    std::string text() const;
};

namespace program_text {

inline std::string comm(int id) {
    return id == world_id ? "world" : id == self_id ? "self" : "comm" + std::to_string(id);
}

inline std::string ranks(std::uint32_t on) {
    std::string list;
    for (int r = 0; r < 32; ++r) {
        if ((on >> r & 1) != 0) list += (list.empty() ? "" : ",") + std::to_string(r);
    }
    return "ranks " + list + ": ";
}

inline std::string message(const Step& step) {
    const std::string& data = step.data().name;
    return "r" + std::to_string(step.made) + " = message(" + comm(step.comm) + ", " +
           data.substr(0, data.find(' ')) + " x " + std::to_string(step.count) + ", " +
           std::to_string(step.root) + " -> " + std::to_string(step.parameter) +
           " mod size, tag=" + std::to_string(step.tag) + (step.from_any ? ", from any)" : ")");
}

inline std::string call(const Step& step, const std::string& name) {
    const CollectiveEntry& entry = entry_of(step.collective);
    std::string text = name + "(" + comm(step.comm);
    if (step.collective != Collective::barrier) {
        const std::string& data = step.data().name;
        const std::size_t blank = data.find(' ');
        text += ", " + data.substr(0, blank) + " x " + std::to_string(step.count);
        if (entry.reduces) text += "," + data.substr(blank);
    }
    if (entry.has_root) text += ", root=" + std::to_string(step.root) + " mod size";
    if (step.in_place) text += ", in place";
    if (step.types_differ) text += ", odd ranks: bytes";
    return text + ")";
}

}  // namespace program_text

inline std::string Step::text() const {
    using namespace program_text;
    const std::string name = entry_of(collective).name;
    std::string list;
    for (int id : requests) list += (list.empty() ? "r" : ", r") + std::to_string(id);
    const std::string k = std::to_string(parameter);
    switch (action) {
        case Action::dup:
            return program_text::comm(made) + " = dup(" + program_text::comm(comm) + ")";
        case Action::split: {
            const std::string colors[] = {"r%" + k, "r/" + k, "r==" + k + " ? none : 0", "0", "r"};
            return program_text::comm(made) + " = split(" + program_text::comm(comm) +
                   ", color=" + colors[static_cast<std::size_t>(rule)] +
                   (reversed ? ", key=-r" : "") + ")";
        }
        case Action::topology:
            return program_text::comm(made) + " = " +
                   neighbor_kinds[static_cast<std::size_t>(parameter)] + " of " +
                   program_text::comm(comm);
        case Action::group:
            return program_text::comm(made) + " = group of " + program_text::ranks(on) +
                   "from_oob()";
        case Action::free_comm: return "free(" + program_text::comm(comm) + ")";
        case Action::start: return "r" + std::to_string(made) + " = " + call(*this, "i" + name);
        case Action::init: return "r" + std::to_string(made) + " = " + call(*this, name + "_init");
        case Action::message: return message(*this);
        case Action::start_persistent:
            return "start(" + list + (requests.size() > 1 ? ") in each rank's own order" : ")");
        case Action::free_request: return "free(" + list + ")";
        case Action::complete:
            return ranks(on) + complete_names[static_cast<std::size_t>(how)] + "(...)";
        case Action::engine: return ranks(on) + "set_engine(...)";
        case Action::compute: return ranks(on) + "compute";
    }
    return "?";
}

using Program = std::vector<Step>;

namespace generator {

class Generator {
  public:
    explicit Generator(const Case& c) : case_(c), random_(c.seed * 2 + 1) {}

    Program run() {
        if (case_.has_groups()) {
            for (int pair : {below(pairs()), below(pairs())}) make_group(pair);
        }
        while (operations_ < case_.operations) {
            const std::uint64_t kind = random_.below(44);
            if (kind < 17) {
                add(operation(Action::start));
                ++operations_;
            } else if (kind < 27) {
                complete();
            } else if (kind < 29) {
                make_comm();
            } else if (kind == 29) {
                free_comm();
            } else if (kind < 32) {
                make_persistent();
            } else if (kind < 36) {
                start_persistent();
            } else if (kind == 36) {
                free_request();
            } else if (kind == 37) {
                Step step = local(Action::engine);
                add(step);
            } else if (kind >= 40) {
                add(message());
                ++operations_;
            } else {
                add(local(Action::compute));
            }
        }
        return std::move(steps_);
    }

  private:
    int below(std::size_t bound) { return static_cast<int>(random_.below(bound)); }

    void add(Step step) {
        step.index = static_cast<int>(steps_.size());
        steps_.push_back(std::move(step));
    }

    // On some ranks, on most of them, or on all.
    Step local(Action action) {
        const std::uint32_t all = (1u << case_.ranks) - 1;
        Step step;
        step.action = action;
        step.salt = random_.next();
        const std::uint64_t draw = random_.next();
        step.on = static_cast<std::uint32_t>(draw) & all;
        if (draw >> 40 & 1) step.on |= static_cast<std::uint32_t>(draw >> 20) & all;
        if (step.on == 0 || (draw >> 41 & 3) == 0) step.on = all;
        return step;
    }

    void complete() {
        Step step = local(Action::complete);
        step.how = static_cast<Complete>(random_.below(std::size(complete_names)));
        add(step);
    }

    Step operation(Action action) {
        Step step;
        step.action = action;
        step.comm = comms_[random_.below(comms_.size())];
        step.made = next_operation_++;
        step.collective = static_cast<Collective>(random_.below(collectives));
        if (entry_of(step.collective).is_among_neighbors) {
            if (topologies_.empty())
                step.collective = Collective::alltoallw;
            else
                step.comm = topologies_[random_.below(topologies_.size())];
        }
        const CollectiveEntry& entry = entry_of(step.collective);
        const std::size_t all = arithmetics().size();
        step.arithmetic =
            random_.one_in(2) ? all - 1 - random_.below(special_arithmetics) : random_.below(all);
        step.count = count(weft_type_size(step.data().type));
        step.root = below(static_cast<std::size_t>(case_.ranks));
        step.in_place = has_in_place(entry.name) && random_.one_in(3);
        step.types_differ =
            !entry.reduces && step.collective != Collective::barrier && random_.one_in(8);
        return step;
    }

    // Some messages of a few tags, and some with a tag of their own, whose receives can only meet
    // them from whichever rank they come.
    Step message() {
        Step step;
        step.action = Action::message;
        step.comm = comms_[random_.below(comms_.size())];
        step.made = next_operation_;
        next_operation_ += 2;
        step.arithmetic = random_.below(arithmetics().size());
        step.count = count(weft_type_size(step.data().type));
        step.root = below(static_cast<std::size_t>(case_.ranks));
        step.parameter = below(static_cast<std::size_t>(case_.ranks));
        step.reversed = random_.one_in(2);
        step.from_any = random_.one_in(3);
        step.tag = step.from_any ? WEFT_TAG_MAX - step.made : below(3);
        return step;
    }

    // A number of elements: none, few, many, near thresholds of transports and algorithms, rarely a lot.
    std::size_t count(std::size_t element) {
        static constexpr std::size_t thresholds[] = {64,   256,   1024,  4096,
                                                     8192, 16384, 32768, 65536};
        const std::size_t most = case_.bytes_max / element;
        const std::uint64_t kind = random_.below(48);
        std::size_t count = 0;
        if (kind < 4) {
            count = 0;
        } else if (kind < 12) {
            count = 1;
        } else if (kind < 32) {
            count = 2 + random_.below(60);
        } else if (kind < 40) {
            count = 64 + random_.below(1500);
        } else if (kind < 47) {
            const std::size_t bytes = thresholds[random_.below(std::size(thresholds))];
            count = bytes / element + random_.below(3) - 1;
        } else {
            count = random_.below(300'000) / element;
        }
        return std::min(count, most);
    }

    std::size_t pairs() const { return static_cast<std::size_t>(case_.ranks) - 1; }

    // Of two processes that follow each other; else of all of them, or of three.
    void make_group(int pair) {
        Step step;
        step.action = Action::group;
        step.made = next_comm_++;
        step.on = 3u << pair;
        if (random_.one_in(4)) step.on = (1u << case_.ranks) - 1;
        if (random_.one_in(4)) step.on |= 1u << below(static_cast<std::size_t>(case_.ranks));
        comms_.push_back(step.made);
        add(step);
    }

    void make_comm() {
        if (comms_.size() >= 7) return free_comm();
        if (case_.has_groups() && random_.one_in(2)) return make_group(below(pairs()));
        Step step;
        step.comm = comms_[random_.below(comms_.size())];
        step.made = next_comm_++;
        step.action = random_.one_in(3) ? Action::dup : Action::split;
        if (topologies_.empty() || random_.one_in(4)) {
            step.action = Action::topology;
            step.parameter = below(std::size(neighbor_kinds));
        }
        const bool has_topology = std::ranges::find(topologies_, step.comm) != topologies_.end();
        if (step.action == Action::topology || (step.action == Action::dup && has_topology))
            topologies_.push_back(step.made);
        if (step.action == Action::topology) {
            comms_.push_back(step.made);
            return add(step);
        }
        step.rule = static_cast<SplitRule>(random_.below(5));
        if (step.rule == SplitRule::alone && !random_.one_in(3)) step.rule = SplitRule::modulo;
        step.parameter = step.rule == SplitRule::without
                             ? below(static_cast<std::size_t>(case_.ranks))
                             : 2 + below(2);
        step.reversed = random_.one_in(2);
        comms_.push_back(step.made);
        add(step);
    }

    void free_comm() {
        if (comms_.size() <= 2) return;
        const auto at = comms_.begin() + 2 + below(comms_.size() - 2);
        Step step;
        step.action = Action::free_comm;
        step.comm = *at;
        comms_.erase(at);
        std::erase(topologies_, step.comm);
        add(step);
    }

    void make_persistent() {
        if (persistent_.size() >= 8) return free_request();
        Step step = operation(Action::init);
        persistent_.push_back(step.made);
        add(step);
    }

    void start_persistent() {
        Step step = local(Action::start_persistent);
        for (int id : persistent_) {
            if (random_.one_in(2)) step.requests.push_back(id);
        }
        if (step.requests.empty()) return;
        operations_ += static_cast<int>(step.requests.size());
        add(step);
    }

    void free_request() {
        if (persistent_.empty()) return;
        const auto at = persistent_.begin() + below(persistent_.size());
        Step step;
        step.action = Action::free_request;
        step.requests = {*at};
        persistent_.erase(at);
        add(step);
    }

    const Case& case_;
    Prng random_;
    Program steps_;
    int operations_ = 0;
    int next_operation_ = 0;
    int next_comm_ = 2;
    std::vector<int> comms_ = {world_id, self_id};
    std::vector<int> topologies_;  // those of comms_ that have one
    std::vector<int> persistent_;
};

}  // namespace generator

// Drops the steps that need what removed steps made.
inline Program normalised(const Program& steps) {
    std::vector<int> comms = {world_id, self_id};
    std::vector<int> requests;
    auto has = [](const std::vector<int>& ids, int id) {
        return std::ranges::find(ids, id) != ids.end();
    };
    Program good;
    for (Step step : steps) {
        switch (step.action) {
            case Action::dup:
            case Action::split:
            case Action::topology:
                if (!has(comms, step.comm)) continue;
                comms.push_back(step.made);
                break;
            case Action::group: comms.push_back(step.made); break;
            case Action::free_comm:
                if (std::erase(comms, step.comm) == 0) continue;
                break;
            case Action::start:
            case Action::message:
                if (!has(comms, step.comm)) continue;
                break;
            case Action::init:
                if (!has(comms, step.comm)) continue;
                requests.push_back(step.made);
                break;
            case Action::start_persistent:
                std::erase_if(step.requests, [&](int id) { return !has(requests, id); });
                if (step.requests.empty()) continue;
                break;
            case Action::free_request:
                if (std::erase(requests, step.requests.front()) == 0) continue;
                break;
            default: break;
        }
        good.push_back(std::move(step));
    }
    return good;
}

inline Program generate(const Case& c) {
    const Program all = generator::Generator(c).run();
    if (c.keeps_all) return normalised(all);
    Program kept;
    for (int index : c.keep) {
        if (index >= 0 && index < static_cast<int>(all.size())) {
            kept.push_back(all[static_cast<std::size_t>(index)]);
        }
    }
    return normalised(kept);
}

// How many operations a program starts.
inline int operations_of(const Program& program) {
    int operations = 0;
    for (const Step& step : program) {
        if (step.action == Action::start || step.action == Action::message) ++operations;
        if (step.action == Action::start_persistent) {
            operations += static_cast<int>(step.requests.size());
        }
    }
    return operations;
}

}  // namespace weft::test::random
