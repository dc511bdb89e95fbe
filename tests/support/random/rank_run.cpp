#include "support/random/rank_run.h"

#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/engine_kind.h"
#include "base/hash.h"
#include "support/any_call.h"
#include "support/guarded.h"

namespace weft::test::random {

std::map<BarrierName, std::atomic<int>> barriers_of(const Program& program, int ranks) {
    std::map<BarrierName, std::atomic<int>> all;
    for (const Step& step : program) {
        const bool is_operation = step.action == Action::start || step.action == Action::init;
        if (!is_operation || step.collective != Collective::barrier) continue;
        for (int first = 0; first < ranks; ++first) all[{step.made, first}] = 0;
    }
    return all;
}

class RankRun::Walk {
  public:
    Walk(Calls& calls, const Case& c, const Program& program, RunOptions options)
        : calls_(calls), case_(c), program_(program), options_(options) {}
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    std::string run() {
        comms_[world_id] = {calls_.world(), everybody(), calls_.rank()};
        comms_[self_id] = {calls_.self(), {calls_.rank()}, 0};
        bool good = true;
        for (std::size_t i = 0; good && i < program_.size(); ++i) {
            at_.store(static_cast<int>(i), std::memory_order_relaxed);
            looked_at_.store(-1, std::memory_order_relaxed);
            good = execute(program_[i]);
        }
        if (good) {
            at_.store(static_cast<int>(program_.size()), std::memory_order_relaxed);
            finish_all();
        }
        return wrong_;
    }

    const std::string& wrong() const { return wrong_; }
    bool is_stopped() const { return stopped_; }

    std::string where() const {
        const auto at = static_cast<std::size_t>(at_.load(std::memory_order_relaxed));
        const int looked_at = looked_at_.load(std::memory_order_relaxed);
        return "rank " + std::to_string(calls_.rank()) + ", " +
               (at < program_.size() ? "step " + std::to_string(program_[at].index) + " `" +
                                           program_[at].text() + "`"
                                     : "completing what is left") +
               (looked_at < 0 ? "" : " (looks at r" + std::to_string(looked_at) + ")");
    }
    int steps_done() const { return at_.load(std::memory_order_relaxed); }

  private:
    struct Comm {
        weft_comm handle = WEFT_COMM_NULL;
        std::vector<int> members;  // ranks of the world
        int rank = 0;              // this one's position among them
        Neighbors neighbors = {};  // if it has a topology
    };

    struct Operation {
        const Step* step = nullptr;
        std::vector<int> members;
        Neighbors neighbors;  // of its communicator
        int rank = 0;
        int root = 0;
        weft_request request = WEFT_REQUEST_NULL;
        bool persistent = false;
        bool is_message = false;
        bool sends = false;  // a message
        int source = -1;     // as a receive from any source says
        bool active = false;
        int round = 0;  // of a persistent one
        Guarded send;
        Guarded recv;
        OwnArguments own;
        std::vector<unsigned char> sent;  // what was in `send` at the start

        bool is_root() const { return rank == root; }
        std::size_t size() const { return members.size(); }
    };

    // --- Failures --------------------------------------------------------------------------------

    void note(const std::string& what) {
        if (wrong_.empty()) wrong_ = where() + ": " + what;
    }
    bool stop(const std::string& what) {
        note(what);
        stopped_ = true;
        return false;
    }
    bool expect_ok(weft_status status, const std::string& call) {
        if (status == WEFT_OK) return true;
        return stop(call + " gives " + weft_status_name(status) + ": " + calls_.detail());
    }

    // --- Data ------------------------------------------------------------------------------------

    std::vector<int> everybody() const {
        std::vector<int> ranks(static_cast<std::size_t>(calls_.ranks()));
        std::iota(ranks.begin(), ranks.end(), 0);
        return ranks;
    }

    static bool is(const Operation& o, Collective collective) {
        return o.step->collective == collective;
    }
    static const CollectiveEntry& entry(const Operation& o) { return entry_of(o.step->collective); }
    // The random contribution of a member in this block.
    Prng contribution(const Operation& o, int from, int block) const {
        Prng mix(case_.seed ^ static_cast<std::uint64_t>(o.step->made) << 40 ^
                 static_cast<std::uint64_t>(o.round) << 20);
        return Prng(mix.next() ^ static_cast<std::uint64_t>(from + 1) << 8 ^
                    static_cast<std::uint64_t>(block + 1));
    }

    void fill(const Operation& o, int from, int block, std::span<unsigned char> into) const {
        Prng random = contribution(o, from, block);
        if (entry(o).reduces) {
            for (std::size_t i = 0; i < into.size(); i += element_bytes(o))
                o.step->data().make(random.next(), into.data() + i);
            return;
        }
        for (std::size_t i = 0; i < into.size(); i += 8) {
            const std::uint64_t word = random.next();
            std::memcpy(into.data() + i, &word, std::min<std::size_t>(8, into.size() - i));
        }
    }

    // The call in the form of its definition, counted in the step's elements.
    static Arguments arguments_of(const Operation& o) {
        const Step& step = *o.step;
        Arguments a = {.collective = entry(o).name,
                       .ranks = static_cast<int>(o.size()),
                       .root = entry(o).has_root ? o.root : 0,
                       .count = step.count,
                       .in_place = step.in_place,
                       .element_bytes = weft_type_size(step.data().type)};
        if (entry(o).differ == Differ::by_rank) {
            for (int r = 0; r < a.ranks; ++r) a.counts.push_back(step.count_of(r));
        }
        if (entry(o).differ == Differ::by_pair) {
            // Symmetric, for calls in place.
            for (int r = 0; r < a.ranks * a.ranks; ++r)
                a.amounts.push_back(step.count_of(r / a.ranks + r % a.ranks));
            a.has_gaps = step.made % 2 == 1;
        }
        if (entry(o).is_among_neighbors) a.neighbors = o.neighbors;
        return a;
    }

    // A block of this rank.
    static unsigned char* at(Operation& o, const Place& place) {
        Guarded& buffer = place.is_in_recv ? o.recv : o.send;
        return buffer.as<unsigned char>() + place.begin * element_bytes(o);
    }

    static std::size_t element_bytes(const Operation& o) {
        return weft_type_size(o.step->data().type);
    }

    static void prepare(Operation& o) {
        const Arguments a = arguments_of(o);
        o.send = Guarded(a.send_elements(o.rank) * element_bytes(o));
        o.recv = Guarded(a.recv_elements(o.rank) * element_bytes(o));
    }

    // Contents of both buffers.
    void fill(Operation& o) const {
        const Arguments a = arguments_of(o);
        std::memset(o.recv.data(), 0x5a, o.recv.bytes());
        for (int block = 0; block < a.contributed(o.rank); ++block) {
            const Place place = a.contribution(o.rank, block);
            fill(o, o.rank, block, {at(o, place), place.count * element_bytes(o)});
        }
        o.sent.assign(o.send.as<unsigned char>(), o.send.as<unsigned char>() + o.send.bytes());
    }

    static Call call_of(Operation& o, weft_op op) {
        const Step& step = *o.step;
        o.own.send = o.send.data();
        o.own.recv = o.recv.data();
        Call call = test::call_of(arguments_of(o), step.collective, o.rank, step.data().type,
                                  step.types_differ && o.rank % 2 == 1, o.own);
        call.op = op;
        call.root = o.root;
        return call;
    }

    // --- Checks ----------------------------------------------------------------------------------

    void enter(const Operation& o) {
        if (!options_.entered || !is(o, Collective::barrier)) return;
        ++options_.entered->at({o.step->made, o.members.front()});
    }

    void check_everybody_entered(const Operation& o) {
        if (!options_.entered) return;
        const int expected = static_cast<int>(o.size()) * std::max(o.round, 1);
        if (options_.entered->at({o.step->made, o.members.front()}) >= expected) return;
        note(describe(o) + ": completed before every member had entered");
    }

    void check_block(const Operation& o, const Source& source, std::span<const unsigned char> is) {
        const Arithmetic& data = o.step->data();
        const std::size_t element = element_bytes(o);
        expected_.resize(is.size());
        operand_.resize(is.size());
        fill(o, source.last, source.block, expected_);
        for (int r = source.last - 1; r >= source.first; --r) {
            fill(o, r, source.block, operand_);
            for (std::size_t i = 0; i < is.size(); i += element)
                data.combine(operand_.data() + i, expected_.data() + i);
        }
        const bool is_combined = source.first != source.last;
        for (std::size_t i = 0; i < is.size(); i += element) {
            const bool right = is_combined
                                   ? data.equal(is.data() + i, expected_.data() + i)
                                   : std::memcmp(is.data() + i, expected_.data() + i, element) == 0;
            if (right) continue;
            note(describe(o) + ": element " + std::to_string(i / element) +
                 " of the block of members " + std::to_string(source.first) + ".." +
                 std::to_string(source.last) + " is wrong");
            return;
        }
        if (data.rounds && is_combined && o.step->collective == Collective::allreduce) {
            Hash hash;
            for (const unsigned char byte : is) hash.add(std::uint64_t{byte});
            std::uint64_t& digest = digests_[static_cast<std::size_t>(o.step->made)];
            digest = Hash(digest).add(hash.value()).value();
        }
    }

    void check(Operation& o) {
        if (o.is_message) return check_message(o);
        const auto* send = static_cast<const unsigned char*>(o.send.data());
        if (!o.send.guards_untouched() || !o.recv.guards_untouched()) {
            note(describe(o) + ": bytes outside of its buffers were written");
        }
        if (!std::equal(o.sent.begin(), o.sent.end(), send)) {
            note(describe(o) + ": its send buffer was written");
        }
        if (is(o, Collective::barrier)) check_everybody_entered(o);
        const Arguments a = arguments_of(o);
        for (int block = 0; block < a.received(o.rank); ++block) {
            if (!a.arrives(o.rank, block)) continue;
            const Place place = a.result(o.rank, block);
            check_block(o, a.source(o.rank, block), {at(o, place), place.count * element_bytes(o)});
        }
    }

    void check_message(Operation& o) {
        if (!o.send.guards_untouched() || !o.recv.guards_untouched())
            note(describe(o) + ": bytes outside of its buffer were written");
        const auto* send = static_cast<const unsigned char*>(o.send.data());
        if (!std::equal(o.sent.begin(), o.sent.end(), send))
            note(describe(o) + ": what it sends was written");
        if (o.sends) return;
        expected_.resize(o.recv.bytes());
        fill(o, o.root, 0, expected_);
        if (!std::equal(expected_.begin(), expected_.end(),
                        static_cast<const unsigned char*>(o.recv.data())))
            note(describe(o) + ": what it received is wrong");
        if (o.step->from_any && o.source != o.root)
            note(describe(o) + ": its source is wrong, " + std::to_string(o.source));
    }

    static std::string describe(const Operation& o) {
        return "r" + std::to_string(o.step->made) + " (" + o.step->text() +
               (o.persistent ? ", start " + std::to_string(o.round) : "") + ")";
    }

    // --- Steps -----------------------------------------------------------------------------------

    bool execute(const Step& step) {
        switch (step.action) {
            case Action::dup:
            case Action::split:
            case Action::topology: return make_comm(step);
            case Action::group: return make_group(step);
            case Action::free_comm: return free_comm(step);
            case Action::start: return start(step, /*persistent=*/false);
            case Action::init: return start(step, /*persistent=*/true);
            case Action::message: return message(step);
            case Action::start_persistent: return start_persistent(step);
            case Action::free_request: return free_request(step.requests.front());
            case Action::complete: return !step.is_on(calls_.rank()) || complete(step);
            case Action::engine: return !step.is_on(calls_.rank()) || set_engine(step);
            case Action::compute:
                if (step.is_on(calls_.rank())) {
                    Prng draws = step.draws(calls_.rank());
                    calls_.compute(1 + static_cast<int>(draws.below(20'000)));
                }
                return true;
        }
        return true;
    }

    bool make_comm(const Step& step) {
        const auto parent = comms_.find(step.comm);
        if (parent == comms_.end()) return true;
        const Comm& from = parent->second;
        Comm made;
        if (step.action == Action::dup) {
            made = {WEFT_COMM_NULL, from.members, from.rank, from.neighbors};
            if (!expect_ok(calls_.comm_dup(from.handle, &made.handle), "comm_dup")) return false;
        } else if (step.action == Action::topology) {
            made = {WEFT_COMM_NULL, from.members, from.rank,
                    neighbors(neighbor_kinds[static_cast<std::size_t>(step.parameter)],
                              static_cast<int>(from.members.size()))};
            const weft_status status =
                calls_.comm_topology(from.handle, made.neighbors, from.rank, &made.handle);
            if (!expect_ok(status, "comm_topology")) return false;
        } else {
            const int color = step.color_of(from.rank);
            for (int r = 0; r < static_cast<int>(from.members.size()); ++r) {
                if (step.color_of(r) == color) {
                    made.members.push_back(from.members[static_cast<std::size_t>(r)]);
                }
            }
            if (step.reversed) std::reverse(made.members.begin(), made.members.end());
            made.rank = static_cast<int>(std::ranges::find(made.members, calls_.rank()) -
                                         made.members.begin());
            const weft_status status =
                calls_.comm_split(from.handle, color < 0 ? WEFT_COLOR_NONE : color,
                                  step.reversed ? -from.rank : 0, &made.handle);
            if (!expect_ok(status, "comm_split")) return false;
            if (color < 0) {
                return made.handle == WEFT_COMM_NULL || stop("no color gives a communicator");
            }
        }
        comms_[step.made] = made;
        return true;
    }

    bool make_group(const Step& step) {
        if (!step.is_on(calls_.rank())) return true;
        Comm made;
        for (const int rank : everybody()) {
            if (rank == calls_.rank()) made.rank = static_cast<int>(made.members.size());
            if (step.is_on(rank)) made.members.push_back(rank);
        }
        if (!expect_ok(calls_.comm_group(made.members, &made.handle), "comm_from_oob"))
            return false;
        comms_[step.made] = made;
        return true;
    }

    bool free_comm(const Step& step) {
        const auto found = comms_.find(step.comm);
        if (found == comms_.end()) return true;
        weft_comm handle = found->second.handle;
        comms_.erase(found);
        return expect_ok(calls_.comm_free(&handle), "comm_free") &&
               (handle == WEFT_COMM_NULL || stop("comm_free leaves the handle"));
    }

    // The operation may be freed as soon as it was named in a call.
    template <class Body>
    weft_status with_op(const Step& step, Body body) {
        const Arithmetic& data = step.data();
        const bool reduces = entry_of(step.collective).reduces;
        if (!reduces || data.user == User::no) return body(data.op);
        const bool wrong = options_.plant && calls_.rank() == calls_.ranks() - 1;
        weft_op op = WEFT_OP_NULL;
        weft_status status =
            weft_op_create(wrong ? apply_nothing : apply_user_op, data.user == User::commutes,
                           const_cast<Arithmetic*>(&data), &op);
        if (status != WEFT_OK) return status;
        status = body(op);
        const weft_status freed = weft_op_free(&op);
        return status != WEFT_OK ? status : freed;
    }

    static void apply_nothing(const void*, void*, size_t, weft_type, void*) {}

    bool start(const Step& step, bool persistent) {
        const auto comm = comms_.find(step.comm);
        if (comm == comms_.end()) return true;
        // At most as many outstanding as a program would have; the ranks complete different ones.
        while (outstanding_.size() >= outstanding_max) {
            if (!complete_all({outstanding_.front()})) return false;
        }
        Operation& o = operations_[step.made];
        o.step = &step;
        o.members = comm->second.members;
        o.neighbors = comm->second.neighbors;
        o.rank = comm->second.rank;
        o.root = step.root % static_cast<int>(o.members.size());
        o.persistent = persistent;
        prepare(o);
        if (!persistent) {
            fill(o);
            enter(o);
        }
        const weft_status status = with_op(step, [&](weft_op op) {
            const Call call = call_of(o, op);
            return persistent ? calls_.init(call, comm->second.handle, &o.request)
                              : calls_.start(call, comm->second.handle, &o.request);
        });
        o.own.sends.overwrite();
        o.own.receives.overwrite();
        if (status == WEFT_REFUSED_SETTING && options_.algorithms_forced) {  // on every rank alike
            operations_.erase(step.made);
            return true;
        }
        if (!expect_ok(status, "the start")) return false;
        if (o.request == WEFT_REQUEST_NULL) return stop("the start gives no request");
        if (!persistent) set_active(step.made, o);
        return true;
    }

    bool message(const Step& step) {
        const auto comm = comms_.find(step.comm);
        if (comm == comms_.end()) return true;
        const int rank = comm->second.rank;
        const int ranks = static_cast<int>(comm->second.members.size());
        const bool sends = step.root % ranks == rank;
        const bool receives = step.parameter % ranks == rank;
        // (Room for both ends: the first alone would never complete.)
        while (outstanding_.size() + 2 > outstanding_max) {
            if (!complete_all({outstanding_.front()})) return false;
        }
        if (sends && step.reversed && !message(step, comm->second, true)) return false;
        if (receives && !message(step, comm->second, false)) return false;
        return !sends || step.reversed || message(step, comm->second, true);
    }

    bool message(const Step& step, const Comm& comm, bool sends) {
        const int id = sends ? step.made + 1 : step.made;
        Operation& o = operations_[id];
        o.step = &step;
        o.is_message = true;
        o.sends = sends;
        o.members = comm.members;
        o.rank = comm.rank;
        const int ranks = static_cast<int>(o.members.size());
        o.root = step.root % ranks;
        const std::size_t bytes = step.count * element_bytes(o);
        (sends ? o.send : o.recv) = Guarded(bytes);
        weft_status status;
        if (sends) {
            fill(o, o.root, 0, {o.send.as<unsigned char>(), bytes});
            o.sent.assign(o.send.as<unsigned char>(), o.send.as<unsigned char>() + bytes);
            status = calls_.isend(o.send.data(), bytes, step.parameter % ranks, step.tag,
                                  comm.handle, &o.request);
        } else if (step.from_any) {
            status = calls_.irecv_any(o.recv.data(), bytes, step.tag, &o.source, comm.handle,
                                      &o.request);
        } else {
            status = calls_.irecv(o.recv.data(), bytes, o.root, step.tag, comm.handle, &o.request);
        }
        if (!expect_ok(status, sends ? "the send" : "the receive")) return false;
        if (o.request == WEFT_REQUEST_NULL) return stop("the message gives no request");
        set_active(id, o);
        return true;
    }

    void set_active(int id, Operation& o) {
        o.active = true;
        outstanding_.push_back(id);
    }

    bool start_persistent(const Step& step) {
        std::vector<int> ids;
        for (int id : step.requests) {
            const auto found = operations_.find(id);
            if (found == operations_.end()) continue;
            if (found->second.active && !complete_all({id})) return false;
            ids.push_back(id);
        }
        Prng draws = step.draws(calls_.rank());
        shuffle(ids, draws);
        for (int id : ids) {
            Operation& o = operations_[id];
            ++o.round;
            fill(o);
            enter(o);
        }
        if (draws.one_in(2)) {
            std::vector<weft_request> requests;
            for (int id : ids) requests.push_back(operations_[id].request);
            const weft_status status = calls_.startall(requests.size(), requests.data());
            if (!expect_ok(status, "startall")) return false;
            for (int id : ids) set_active(id, operations_[id]);
            return true;
        }
        for (int id : ids) {
            Operation& o = operations_[id];
            if (!expect_ok(calls_.start(&o.request), "start")) return false;
            set_active(id, o);
        }
        return true;
    }

    bool free_request(int id) {
        const auto found = operations_.find(id);
        if (found == operations_.end()) return true;
        Operation& o = found->second;
        if (o.active && !complete_all({id})) return false;
        if (!expect_ok(calls_.request_free(&o.request), "request_free")) return false;
        if (o.request != WEFT_REQUEST_NULL) return stop("request_free leaves the handle");
        operations_.erase(found);
        return true;
    }

    bool set_engine(const Step& step) {
        std::vector<EngineTraits> engines;
        std::ranges::copy_if(engine_list, std::back_inserter(engines), [&](const auto& engine) {
            return (options_.may_thread || !engine.has_thread()) &&
                   (options_.may_poll || !engine.has_poller) &&
                   (options_.may_own || !engine.needs_joiner);
        });
        Prng draws = step.draws(calls_.rank());
        const EngineTraits& engine = engines[draws.below(engines.size())];
        const weft_status status = calls_.set_engine(static_cast<weft_engine>(engine.kind));
        const bool is_absent = status == WEFT_REFUSED_UNSUPPORTED && engine.offloads;
        return is_absent || expect_ok(status, "set_engine");
    }

    // --- Completion ------------------------------------------------------------------------------

    static void shuffle(std::vector<int>& ids, Prng& draws) {
        for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[draws.below(i)]);
    }

    // An array of requests as a call gets it, and what became of it.
    struct List {
        std::vector<int> ids;  // -1: null
        std::vector<weft_request> requests;
        std::vector<weft_status> statuses;
        std::vector<size_t> indices;

        std::size_t size() const { return ids.size(); }
    };

    List list_of(const std::vector<int>& ids) {
        List list;
        list.ids = ids;
        for (int id : ids) {
            if (is_active(id)) looked_at_.store(id, std::memory_order_relaxed);
        }
        for (int id : ids) {
            list.requests.push_back(id < 0 ? WEFT_REQUEST_NULL : operations_[id].request);
        }
        list.statuses.resize(ids.size(), WEFT_PENDING);
        list.indices.resize(ids.size(), WEFT_NONE);
        return list;
    }

    // Some of the outstanding ones in any order, with null and inactive ones in between.
    std::vector<int> choose(Prng& draws) {
        std::vector<int> ids = outstanding_;
        shuffle(ids, draws);
        ids.resize(std::min<std::size_t>(ids.size(), 1 + draws.below(8)));
        if (draws.one_in(4)) ids.push_back(-1);
        for (const auto& [id, o] : operations_) {
            if (o.persistent && !o.active && draws.one_in(6)) ids.push_back(id);
        }
        shuffle(ids, draws);
        return ids;
    }

    bool is_active(int id) const { return id >= 0 && operations_.at(id).active; }

    // Entry i of a list was completed.
    bool settle(List& list, std::size_t i) {
        const int id = list.ids[i];
        if (id < 0) return list.requests[i] == WEFT_REQUEST_NULL || stop("a null request changed");
        Operation& o = operations_.at(id);
        if (list.requests[i] != (o.persistent ? o.request : WEFT_REQUEST_NULL)) {
            return stop(describe(o) + ": wrong handle after completion");
        }
        if (!o.active) return true;
        o.active = false;
        std::erase(outstanding_, id);
        check(o);
        if (!o.persistent) operations_.erase(id);
        return true;
    }

    bool settle_all(List& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list.statuses[i] != WEFT_OK) {
                return stop("a status is " + std::string(weft_status_name(list.statuses[i])));
            }
            if (!settle(list, i)) return false;
        }
        return true;
    }

    // The others are as they were.
    bool expect_untouched(const List& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            const int id = list.ids[i];
            if (list.requests[i] != (id < 0 ? WEFT_REQUEST_NULL : operations_.at(id).request)) {
                return stop("a request that was not completed has changed");
            }
        }
        return true;
    }

    bool complete_all(const std::vector<int>& ids) {
        List list = list_of(ids);
        return expect_ok(calls_.waitall(list.size(), list.requests.data(), list.statuses.data()),
                         "waitall") &&
               settle_all(list);
    }

    // `status` of a call that completes all or nothing.
    bool take_all_or_none(List& list, weft_status status, const char* call, weft_status not_yet) {
        if (status == not_yet) {
            if (not_yet == WEFT_TIMED_OUT && *calls_.detail() == '\0') {
                return stop(std::string(call) + " times out and does not say for what");
            }
            return expect_untouched(list);
        }
        return expect_ok(status, call) && settle_all(list);
    }

    // `status` of a call that completes the first in array order that can be.
    bool take_any(List& list, weft_status status, size_t index, const char* call, bool waits) {
        const bool some_active =
            std::ranges::any_of(list.ids, [&](int id) { return is_active(id); });
        if (status == WEFT_PENDING && !waits && some_active) {
            if (index != WEFT_NONE) return stop(std::string(call) + " is pending with an index");
            return expect_untouched(list);
        }
        if (!expect_ok(status, call)) return false;
        if (!some_active) {
            if (index != WEFT_NONE) return stop(std::string(call) + " completes an inactive one");
            return expect_untouched(list);
        }
        if (index >= list.size() || !is_active(list.ids[index])) {
            return stop(std::string(call) + " gives a wrong index");
        }
        return settle(list, index) && forget(list, {index}) && expect_untouched(list);
    }

    bool take_some(List& list, weft_status status, size_t completed, const char* call, bool waits) {
        const bool some_active =
            std::ranges::any_of(list.ids, [&](int id) { return is_active(id); });
        if (status == WEFT_PENDING && !waits && some_active) {
            if (completed != 0) return stop(std::string(call) + " is pending with completed ones");
            return expect_untouched(list);
        }
        if (!expect_ok(status, call)) return false;
        if (!some_active) {
            if (completed != WEFT_NONE) return stop(std::string(call) + " completes inactive ones");
            return expect_untouched(list);
        }
        if (completed == 0 || completed > list.size()) {
            return stop(std::string(call) + " gives a wrong number");
        }
        std::vector<size_t> done(list.indices.begin(),
                                 list.indices.begin() + static_cast<std::ptrdiff_t>(completed));
        for (std::size_t i = 0; i < completed; ++i) {
            if (list.statuses[i] != WEFT_OK) return stop(std::string(call) + ": a bad status");
            if (done[i] >= list.size() || !is_active(list.ids[done[i]]) ||
                (i > 0 && done[i] <= done[i - 1])) {
                return stop(std::string(call) + " gives wrong indices");
            }
            if (!settle(list, done[i])) return false;
        }
        return forget(list, done) && expect_untouched(list);
    }

    // Removes entries from the list.
    static bool forget(List& list, const std::vector<size_t>& entries) {
        for (std::size_t n = entries.size(); n-- > 0;) {
            const auto at = static_cast<std::ptrdiff_t>(entries[n]);
            list.ids.erase(list.ids.begin() + at);
            list.requests.erase(list.requests.begin() + at);
        }
        return true;
    }

    bool complete(const Step& step) {
        Prng draws = step.draws(calls_.rank());
        if (outstanding_.empty() && !draws.one_in(8)) return true;
        List list = list_of(choose(draws));
        List one =
            list_of({outstanding_.empty() ? -1 : outstanding_[draws.below(outstanding_.size())]});
        auto deadline = [&] {
            return calls_.deadline(draws.one_in(2) ? 0
                                                   : static_cast<int64_t>(draws.below(300'000)));
        };
        const int tries = 1 + static_cast<int>(draws.below(20));
        size_t index = 12345;
        switch (step.how) {
            case Complete::wait:
                one.statuses[0] = calls_.wait(one.requests.data());
                return expect_ok(one.statuses[0], "wait") && settle_all(one);
            case Complete::test: {
                weft_status status = WEFT_PENDING;
                for (int i = 0; i < tries && status == WEFT_PENDING; ++i) {
                    if (i > 0) calls_.compute(1);
                    status = calls_.test(one.requests.data());
                }
                one.statuses[0] = WEFT_OK;
                return take_all_or_none(one, status, "test", WEFT_PENDING);
            }
            case Complete::wait_until: {
                weft_status status = WEFT_TIMED_OUT;
                for (int i = 0; i < 1 + tries % 2 && status == WEFT_TIMED_OUT; ++i) {
                    status = calls_.wait_until(one.requests.data(), deadline());
                }
                one.statuses[0] = WEFT_OK;
                return take_all_or_none(one, status, "wait_until", WEFT_TIMED_OUT);
            }
            case Complete::waitall:
                return expect_ok(
                           calls_.waitall(list.size(), list.requests.data(), list.statuses.data()),
                           "waitall") &&
                       settle_all(list);
            case Complete::waitall_until:
                return take_all_or_none(list,
                                        calls_.waitall_until(list.size(), list.requests.data(),
                                                             list.statuses.data(), deadline()),
                                        "waitall_until", WEFT_TIMED_OUT);
            case Complete::testall: {
                weft_status status = WEFT_PENDING;
                for (int i = 0; i < tries && status == WEFT_PENDING; ++i) {
                    if (i > 0) calls_.compute(1);
                    status =
                        calls_.testall(list.size(), list.requests.data(), list.statuses.data());
                }
                return take_all_or_none(list, status, "testall", WEFT_PENDING);
            }
            case Complete::waitany: {
                const weft_status status =
                    calls_.waitany(list.size(), list.requests.data(), &index);
                return take_any(list, status, index, "waitany", true);
            }
            case Complete::testany: {
                const weft_status status =
                    calls_.testany(list.size(), list.requests.data(), &index);
                return take_any(list, status, index, "testany", false);
            }
            case Complete::waitsome: {
                const weft_status status =
                    calls_.waitsome(list.size(), list.requests.data(), &index, list.indices.data(),
                                    list.statuses.data());
                return take_some(list, status, index, "waitsome", true);
            }
            case Complete::testsome: {
                const weft_status status =
                    calls_.testsome(list.size(), list.requests.data(), &index, list.indices.data(),
                                    list.statuses.data());
                return take_some(list, status, index, "testsome", false);
            }
        }
        return true;
    }

    // --- The end ---------------------------------------------------------------------------------

    bool finish_all() {
        if (!complete_all(outstanding_) || !compare_digests()) return false;
        std::vector<int> ids;
        for (const auto& [id, o] : operations_) ids.push_back(id);
        for (int id : ids) {
            if (!free_request(id)) return false;
        }
        // Half of the programs leave their communicators to weft_finalize.
        for (auto& [id, comm] : comms_) {
            if (id <= self_id || case_.seed % 2 == 0) continue;
            if (!expect_ok(calls_.comm_free(&comm.handle), "comm_free")) return false;
        }
        return collective({.collective = Collective::barrier}, "the last barrier");
    }

    bool collective(const Call& call, const char* what) {
        weft_request request = WEFT_REQUEST_NULL;
        return expect_ok(calls_.start(call, calls_.world(), &request), what) &&
               expect_ok(calls_.wait(&request), what);
    }

    // Rounding sums have the same bits on all ranks: the largest and the smallest hash are equal.
    bool compare_digests() {
        int operations = 0;
        bool rounds = false;
        for (const Step& step : program_) {
            if (step.action != Action::start && step.action != Action::init) continue;
            operations = std::max(operations, step.made + 1);
            rounds |= step.data().rounds && step.collective == Collective::allreduce;
        }
        if (!rounds) return true;
        std::vector<std::uint64_t> least(static_cast<std::size_t>(operations), ~std::uint64_t{0});
        std::vector<std::uint64_t> most(least.size(), 0);
        for (const auto& [id, hash] : digests_) least[id] = most[id] = hash;
        // Groups of one split have different results: only operations of all ranks are compared.
        for (const Step& step : program_) {
            if (step.action != Action::start && step.action != Action::init) continue;
            const auto id = static_cast<std::size_t>(step.made);
            if (step.comm == world_id) continue;
            least[id] = ~std::uint64_t{0};
            most[id] = 0;
        }
        for (auto [values, op] : {std::pair(&least, WEFT_MIN), std::pair(&most, WEFT_MAX)}) {
            const Call call{.collective = Collective::allreduce,
                            .send_buf = WEFT_IN_PLACE,
                            .recv_buf = values->data(),
                            .count = values->size(),
                            .type = WEFT_UINT64,
                            .op = op};
            if (!collective(call, "the comparison of rounded results")) return false;
        }
        for (std::size_t id = 0; id < least.size(); ++id) {
            if (most[id] == 0 || least[id] == most[id]) continue;
            note("r" + std::to_string(id) + " is wrong: its rounded results differ between ranks");
        }
        return true;
    }

    static constexpr std::size_t outstanding_max = 20;

    Calls& calls_;
    const Case& case_;
    const Program& program_;
    RunOptions options_;
    std::map<int, Comm> comms_;
    std::map<int, Operation> operations_;  // pending ones and persistent ones
    std::vector<int> outstanding_;
    std::map<std::size_t, std::uint64_t> digests_;
    std::string wrong_;
    bool stopped_ = false;
    std::atomic<int> at_{0};
    std::atomic<int> looked_at_{-1};
    std::vector<unsigned char> expected_;
    std::vector<unsigned char> operand_;
};

RankRun::RankRun(Calls& calls, const Case& c, const Program& program, RunOptions options)
    : walk_(std::make_unique<Walk>(calls, c, program, options)) {}
RankRun::~RankRun() = default;
std::string RankRun::run() { return walk_->run(); }
const std::string& RankRun::wrong() const { return walk_->wrong(); }
bool RankRun::is_stopped() const { return walk_->is_stopped(); }
std::string RankRun::where() const { return walk_->where(); }
int RankRun::steps_done() const { return walk_->steps_done(); }

}  // namespace weft::test::random
