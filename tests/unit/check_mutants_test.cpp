// Algorithms with something changed at random: the checker either refuses them, or they compute
// what the collective promises in every order that the interpreter tries.
#include "base/random.h"
#include "schedule/check/check.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/test.h"

namespace weft::test::check_mutants_test {

using algorithm::CollectiveSpec;

constexpr int mutants = 10000;
constexpr std::uint64_t seeds_accepted = 16;  // orders tried of an accepted mutant
constexpr std::uint64_t seeds_refused = 2;    // of a refused one, to tell how many are harmless

// --- A schedule that can be changed --------------------------------------------------------------

struct Dependency {
    OpId before;
    OpId after;
    std::uint32_t distance;
};

class Recipe {
  public:
    explicit Recipe(const Schedule& schedule)
        : rank_(schedule.rank()),
          ranks_(schedule.ranks()),
          scratch_bytes_(schedule.scratch_bytes()),
          ops_(schedule.ops().begin(), schedule.ops().end()),
          repeats_(schedule.repeats().begin(), schedule.repeats().end()) {
        for (OpId id = 0; id < ops_.size(); ++id) {
            for (const Edge& edge : schedule.after_completion(id)) {
                edges_.push_back({id, edge.to, edge.distance});
            }
        }
    }

    Result<Schedule> build() const {
        ScheduleBuilder builder(rank_, ranks_);
        std::int64_t scratch = 0;
        auto scratch_up_to = [&](std::int64_t bytes) {
            if (bytes > scratch) builder.scratch(bytes - scratch);
            scratch = bytes;
        };
        for (OpId id = 0; id < ops_.size(); ++id) {
            const Repeat* repeat = opened_by(id);
            if (!repeat) {
                add(builder, ops_[id]);
                continue;
            }
            scratch_up_to(repeat->scratch_begin);
            const std::int64_t block = block_bytes(*repeat);
            builder.repeat_begin(
                {.total_bytes = repeat->iterations * repeat->stride - repeat->short_bytes,
                 .block_bytes = block,
                 .window = repeat->window,
                 .per_iteration = repeat->stride / block});
            if (repeat->scratch_stride > 0) builder.scratch(repeat->scratch_stride);
            while (++id != repeat->exit) add(builder, ops_[id]);
            for (const Dependency& edge : edges_) {
                if (repeat->holds(edge.before)) {
                    builder.order(edge.before, edge.after, edge.distance);
                }
            }
            builder.repeat_end();
            scratch = repeat->scratch_begin + repeat->window * repeat->scratch_stride;
        }
        scratch_up_to(scratch_bytes_);
        for (const Dependency& edge : edges_) {
            if (!inside(edge.before)) builder.order(edge.before, edge.after);
        }
        return builder.seal();
    }

    // Changes one thing; empty: there is nothing to change in this way.
    std::string mutate(Prng& random) {
        if (ops_.empty()) return "";
        const OpId id = static_cast<OpId>(random.below(ops_.size()));
        Op& op = ops_[id];
        switch (random.below(8)) {
            case 0: return drop_edge(random);
            case 1: return shift(op, random);
            case 2: return retarget(op, random);
            case 3: return resize(id, random);
            case 4: return reorder(id, static_cast<OpId>(random.below(ops_.size())));
            case 5: return change_kind(op);
            case 6: return add_edge(id, random);
            default: return change_buffer(op, random);
        }
    }

  private:
    static void add(ScheduleBuilder& builder, const Op& op) {
        switch (op.kind) {
            case OpKind::join: builder.join({}); break;
            case OpKind::send: builder.send(op.from(), op.peer); break;
            case OpKind::recv: builder.recv(op.into(), op.peer); break;
            case OpKind::copy: builder.copy(op.from(), op.into()); break;
            case OpKind::reduce: builder.reduce(op.from(), op.into()); break;
            case OpKind::reduce_right: builder.reduce_right(op.from(), op.into()); break;
            case OpKind::scale: builder.scale(op.from(), op.into()); break;
            case OpKind::widen:
            case OpKind::narrow:
            case OpKind::encode:
            case OpKind::decode: break;  // of no schedule here
            case OpKind::call: builder.call(op.into(), op.peer); break;
            case OpKind::await:
            case OpKind::enable: break;  // of no schedule that is built by hand
        }
    }

    std::int64_t block_bytes(const Repeat& repeat) const {
        for (OpId id = repeat.first; repeat.holds(id); ++id) {
            if (ops_[id].kind != OpKind::join) return ops_[id].bytes;
        }
        return repeat.stride;
    }

    const Repeat* opened_by(OpId id) const {
        for (const Repeat& repeat : repeats_) {
            if (repeat.entry == id) return &repeat;
        }
        return nullptr;
    }
    const Repeat* inside(OpId id) const {
        for (const Repeat& repeat : repeats_) {
            if (repeat.holds(id)) return &repeat;
        }
        return nullptr;
    }
    bool is_border(OpId id) const {
        for (const Repeat& repeat : repeats_) {
            if (repeat.entry == id || repeat.exit == id) return true;
        }
        return false;
    }

    std::string drop_edge(Prng& random) {
        if (edges_.empty()) return "";
        edges_.erase(edges_.begin() + static_cast<std::ptrdiff_t>(random.below(edges_.size())));
        return "edge dropped";
    }

    std::string add_edge(OpId before, Prng& random) {
        const OpId after = static_cast<OpId>(random.below(ops_.size()));
        const Repeat* repeat = inside(before);
        if (before == after || repeat != inside(after) || is_border(before) || is_border(after)) {
            return "";
        }
        const std::uint64_t distances = repeat ? repeat->window : 1;
        edges_.push_back({before, after, static_cast<std::uint32_t>(random.below(distances))});
        return "edge added";
    }

    static std::string shift(Op& op, Prng& random) {
        if (op.kind == OpKind::join) return "";
        const std::int64_t steps[] = {1, 4, 8, 16, op.bytes};
        std::int64_t by = steps[random.below(5)] * (random.one_in(2) ? 1 : -1);
        const bool both = op.kind != OpKind::send && op.kind != OpKind::recv;
        const bool from = both ? random.one_in(2) : op.kind == OpKind::send;
        (from ? op.from_offset : op.into_offset) += by;
        return "region shifted";
    }

    std::string retarget(Op& op, Prng& random) {
        if (!op.is_message()) return "";
        op.peer = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks_)));
        return "peer changed";
    }

    std::string resize(OpId id, Prng& random) {
        for (Repeat& repeat : repeats_) {
            if (!repeat.holds(id)) continue;
            if (repeat.stride > block_bytes(repeat)) {
                repeat.iterations += repeat.iterations > 1 && random.one_in(2) ? -1 : 1;
            } else if (random.one_in(2) && repeat.short_bytes >= 8) {
                repeat.short_bytes -= 8;
            } else if (repeat.short_bytes + 8 < repeat.stride) {
                repeat.short_bytes += 8;
            } else {
                ++repeat.iterations;
            }
            return "resized";
        }
        if (ops_[id].kind == OpKind::join) return "";
        const std::int64_t bytes = ops_[id].bytes;
        const std::int64_t sizes[] = {0, bytes / 2, bytes - 8, bytes + 8, bytes + 1};
        ops_[id].bytes = sizes[random.below(5)];
        return "resized";
    }

    std::string reorder(OpId a, OpId b) {
        if (a == b || inside(a) != inside(b) || is_border(a) || is_border(b)) return "";
        std::swap(ops_[a], ops_[b]);
        auto rename = [&](OpId id) { return id == a ? b : id == b ? a : id; };
        for (Dependency& edge : edges_) {
            edge.before = rename(edge.before);
            edge.after = rename(edge.after);
        }
        return "reordered";
    }

    static std::string change_kind(Op& op) {
        switch (op.kind) {
            case OpKind::join:
            case OpKind::scale:
            case OpKind::widen:
            case OpKind::narrow:
            case OpKind::encode:
            case OpKind::decode:
            case OpKind::call:
            case OpKind::await:
            case OpKind::enable: return "";
            case OpKind::reduce: op.kind = OpKind::reduce_right; break;
            case OpKind::reduce_right: op.kind = OpKind::reduce; break;
            case OpKind::copy: op.kind = OpKind::reduce; break;
            case OpKind::send:
            case OpKind::recv: op = Op{}; return "message lost";
        }
        return "kind changed";
    }

    static std::string change_buffer(Op& op, Prng& random) {
        if (op.kind == OpKind::join) return "";
        constexpr Buffer all[] = {Buffer::send, Buffer::recv, Buffer::scratch};
        (writes(op) ? op.into_buffer : op.from_buffer) = all[random.below(3)];
        return "buffer changed";
    }
    static bool writes(const Op& op) { return op.kind != OpKind::send; }

    Rank rank_;
    Rank ranks_;
    std::int64_t scratch_bytes_;
    std::vector<Op> ops_;
    std::vector<Dependency> edges_;
    std::vector<Repeat> repeats_;
};

// --- The generator -------------------------------------------------------------------------------

struct Case {
    Subject subject;
    Trial problem;
    Postcondition promise;
};

Case random_case(Prng& random) {
    static const std::vector<Subject> all = everything();
    Case c;
    c.subject = all[random.below(all.size())];
    const CollectiveSpec& spec = *c.subject.first;
    Trial& p = c.problem;
    p.ranks = static_cast<Rank>(2 + random.below(6));
    p.root =
        spec.has_root ? static_cast<Rank>(random.below(static_cast<std::uint64_t>(p.ranks))) : 0;
    p.bytes = random.one_in(10) ? 0 : static_cast<std::int64_t>(8 + 8 * random.below(5));
    p.lie(c.subject, random.below(p.ways(c.subject)));
    p.make_differ(spec, p.bytes);
    p.element_bytes = 8;
    p.in_place = spec.has_in_place() && random.one_in(2);
    p.tuning = {static_cast<std::int64_t>(8 + 8 * random.below(2)),
                static_cast<std::uint32_t>(1 + random.below(3))};
    p.tuning.ports = static_cast<std::uint32_t>(1 + random.below(3));
    p.commutative = c.subject.second->needs.commutative;
    p.reproducible = spec.reduces && !p.commutative && random.one_in(2);
    if (!c.subject.second->unmet_need(p).empty()) return random_case(random);
    c.promise = promise_of(spec, p);
    return c;
}

struct Counts {
    int refused_by_seal = 0;
    std::map<std::string, int> refused_by_checker;  // by flaw
    int harmless = 0;                               // refused, but right in the orders tried
    int accepted = 0;
    std::map<std::string, int> changes;
};

// What is wrong with an accepted mutant; empty: nothing.
std::string try_mutant(std::uint64_t seed, Counts& counts) {
    Prng random(seed);
    const Case c = random_case(random);
    Result<std::vector<Schedule>> schedules = build_all(c.subject, c.problem);
    if (!schedules.is_ok()) return last_detail();

    std::string changes;
    const std::uint64_t wanted = 1 + random.below(2);
    for (std::uint64_t done = 0, tries = 0; done < wanted && tries < 1000; ++tries) {
        Schedule& victim = (*schedules)[random.below(schedules->size())];
        Recipe recipe(victim);
        const std::string change = recipe.mutate(random);
        if (change.empty()) continue;
        ++done;
        ++counts.changes[change];
        changes += " rank " + std::to_string(victim.rank()) + ": " + change + ';';
        Result<Schedule> mutant = recipe.build();
        if (!mutant.is_ok()) {
            ++counts.refused_by_seal;
            return "";
        }
        victim = std::move(*mutant);
    }
    const Verdict verdict = check(*schedules, c.promise);
    if (!verdict.holds()) {
        ++counts.refused_by_checker[flaw_name(verdict.findings[0].flaw)];
        bool wrong = false;
        for (std::uint64_t s = 0; s < seeds_refused && !wrong; ++s) {
            wrong = !Execution(c.promise, strictest(c.promise)).run(*schedules, s).empty();
        }
        if (!wrong) ++counts.harmless;
        return "";
    }
    ++counts.accepted;
    for (std::uint64_t s = 0; s < seeds_accepted; ++s) {
        const std::string failure = Execution(c.promise, strictest(c.promise)).run(*schedules, s);
        if (failure.empty()) continue;
        return to_text(c.subject, c.problem) + changes + " order " + std::to_string(s) + ": " +
               failure;
    }
    return "";
}

TEST(Mutants, AreRefusedOrComputeWhatIsPromised) {
    Counts counts;
    for (std::uint64_t seed = 0; seed < mutants; ++seed) {
        ASSERT_EQ(try_mutant(seed, counts), "") << "mutant " << seed;
    }
    int refused = 0;
    std::printf("%d mutants\n", mutants);
    for (const auto& [change, n] : counts.changes) std::printf("  %6d  %s\n", n, change.c_str());
    std::printf("%d refused when sealed\n", counts.refused_by_seal);
    for (const auto& [flaw, n] : counts.refused_by_checker) {
        std::printf("%d refused by the checker: %s\n", n, flaw.c_str());
        refused += n;
    }
    std::printf("  (%d of these were right in %llu orders)\n", counts.harmless,
                static_cast<unsigned long long>(seeds_refused));
    std::printf("%d accepted, and right in %llu orders each\n", counts.accepted,
                static_cast<unsigned long long>(seeds_accepted));
    EXPECT_EQ(counts.refused_by_seal + refused + counts.accepted, mutants);
    EXPECT_GT(refused, mutants / 2);
    EXPECT_GT(counts.accepted, mutants / 50);
}

// Taking a schedule apart and building it again changes nothing.
TEST(Mutants, WithoutAChangeAreAccepted) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        Prng random(seed);
        const Case c = random_case(random);
        Result<std::vector<Schedule>> schedules = build_all(c.subject, c.problem);
        ASSERT_TRUE(schedules.is_ok()) << last_detail();
        for (Schedule& schedule : *schedules) {
            Result<Schedule> rebuilt = Recipe(schedule).build();
            ASSERT_TRUE(rebuilt.is_ok()) << last_detail();
            schedule = std::move(*rebuilt);
        }
        const Verdict verdict = check(*schedules, c.promise);
        ASSERT_TRUE(verdict.holds()) << verdict.findings[0].sentence;
        ASSERT_EQ(Execution(c.promise, strictest(c.promise)).run(*schedules, seed), "");
    }
}

}  // namespace weft::test::check_mutants_test
