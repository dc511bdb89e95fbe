#include "lab/steps.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/hash.h"

namespace weft {
namespace {

// What an operation waits for. 0: nothing.
using Label = std::uint64_t;

class Steps {
  public:
    explicit Steps(const Schedule& schedule)
        : schedule_(schedule),
          predecessors_(schedule.ops().size()),
          tokens_(schedule.ops().size()),
          numbers_(schedule.ops().size()) {
        std::uint64_t number = 0;
        std::map<Rank, std::uint64_t> received;
        for (OpId id = 0; id < predecessors_.size(); ++id) {
            const Op& op = schedule.ops()[id];
            if (op.kind == OpKind::recv)
                numbers_[id] = hash_of({static_cast<std::uint64_t>(op.peer), ++received[op.peer]});
            else if (op.kind != OpKind::join)
                numbers_[id] = ++number;
            for (const Edge& edge : schedule.after_completion(id))
                predecessors_[edge.to].push_back({id, edge.distance});
        }
        for (const Repeat& repeat : schedule.repeats()) add_ends(repeat);
    }

    std::uint64_t hash() {
        for (OpId id = 0; id < predecessors_.size(); ++id) {
            if (numbers_[id] == 0) continue;
            const Repeat* const repeat = schedule_.repeat_of(id);
            const bool once = !repeat || runs_once(*repeat);
            const Op op = repeat && once ? schedule_.at(id, 0) : schedule_.ops()[id];
            const std::uint64_t one =
                hash_of({numbers_[id], what(op), waits_for(id), once ? 0 : what(*repeat)});
            if (op.kind == OpKind::recv)
                receives_ += one;  // in any order
            else
                others_.add(one);
        }
        return hash_of({receives_, others_.value()});
    }

  private:
    struct Predecessor {
        OpId op;
        std::uint32_t distance;
    };

    static bool runs_once(const Repeat& repeat) { return repeat.iterations == 1; }

    // The edges that a repeat implies.
    void add_ends(const Repeat& repeat) {
        for (OpId id = repeat.first; id < repeat.first + repeat.ops; ++id) {
            if (std::ranges::none_of(predecessors_[id],
                                     [](const Predecessor& p) { return p.distance == 0; }))
                predecessors_[id].push_back({repeat.entry, 0});
            const auto after = schedule_.after_completion(id);
            if (std::ranges::none_of(after, [](const Edge& edge) { return edge.distance == 0; }))
                predecessors_[repeat.exit].push_back({id, 0});
        }
    }

    // Of an operation: its number. Of a join: what it waits for.
    Label token(OpId id) { return numbers_[id] > 0 ? numbers_[id] : waits_for(id); }

    Label waits_for(OpId id) {
        if (tokens_[id].is_known) return tokens_[id].value;
        std::vector<Label> all;
        for (const Predecessor& p : predecessors_[id]) {
            const Label one = token(p.op);
            if (p.distance > 0)
                all.push_back(Hash().add(one).add(p.distance).value());
            else if (one != 0)
                all.push_back(one);
        }
        std::ranges::sort(all);
        const auto repeated = std::ranges::unique(all);
        all.erase(repeated.begin(), repeated.end());
        const Label value = all.empty() ? 0 : all.size() == 1 ? all.front() : hash_of(all);
        tokens_[id] = {true, value};
        return value;
    }

    static std::uint64_t hash_of(const std::vector<std::uint64_t>& words) {
        Hash hash;
        for (const std::uint64_t word : words) hash.add(word);
        return hash.value();
    }
    static std::uint64_t what(Region region) {
        return hash_of({static_cast<std::uint64_t>(region.buffer),
                        static_cast<std::uint64_t>(region.offset),
                        static_cast<std::uint64_t>(region.bytes)});
    }
    static std::uint64_t what(const Op& op) {
        return hash_of({static_cast<std::uint64_t>(op.kind), static_cast<std::uint64_t>(op.peer),
                        op.reads() ? what(op.from()) : 0, op.writes() ? what(op.into()) : 0});
    }
    std::uint64_t what(const Repeat& repeat) {
        return hash_of({static_cast<std::uint64_t>(&repeat - schedule_.repeats().data()),
                        waits_for(repeat.entry), repeat.ops, repeat.window,
                        static_cast<std::uint64_t>(repeat.iterations),
                        static_cast<std::uint64_t>(repeat.stride),
                        static_cast<std::uint64_t>(repeat.scratch_begin),
                        static_cast<std::uint64_t>(repeat.scratch_stride),
                        static_cast<std::uint64_t>(repeat.short_bytes)});
    }

    struct Known {
        bool is_known = false;
        Label value = 0;
    };

    const Schedule& schedule_;
    std::vector<std::vector<Predecessor>> predecessors_;
    std::vector<Known> tokens_;           // what waits_for() found
    std::vector<std::uint64_t> numbers_;  // of joins 0
    std::uint64_t receives_ = 0;
    Hash others_;
};

}  // namespace

std::uint64_t steps_hash(const Schedule& schedule) { return Steps(schedule).hash(); }

}  // namespace weft
