#include "bench/player/weft.h"

#include "bench/engines.h"
#include "c_api/guard.h"

namespace weft::bench {

WeftPlayer::WeftPlayer(const Api& api, weft_comm made_from, const Cell& cell, const Job& world)
    : api_(api),
      world_(world),
      made_from_(made_from),
      algorithm_(cell.algorithm),
      form_(cell.call) {
    Result<Engine> engine = find_engine(cell.engine);
    if (!engine.is_ok()) {
        absence_ = last_detail();
        return;
    }
    engine_ = engine->value;
    // Ranks agree on an engine's connections when a communicator is made.
    must(weft_barrier(world_.comm), "weft_barrier");
    const bool is_set = set_engine(engine_) == WEFT_OK;
    absence_ = first_sentence(world_, is_set ? "" : api_.last_detail());
    if (absence_.empty()) {
        const bool is_made = api_.comm_dup_with(made_from_, algorithm_.c_str(), &comm_) == WEFT_OK;
        absence_ = first_sentence(world_, is_made ? "" : api_.last_detail());
    }
    force(WEFT_ENGINE_MANUAL);
}

WeftPlayer::~WeftPlayer() {
    for (auto& [one, request] : persistent_) api_.request_free(&request);
}

weft_status WeftPlayer::set_engine(weft_engine engine) const {
    // Some engines only measurements have.
    return &api_ == &own_api ? bench::set_engine(engine) : api_.set_engine(engine);
}

// Once all ranks have left earlier operations, so that no peer changes engines within one.
void WeftPlayer::force(weft_engine engine) const {
    must(weft_barrier(world_.comm), "weft_barrier");
    must(api_, set_engine(engine), "weft_set_engine");
}

void WeftPlayer::enter() { force(engine_); }

void WeftPlayer::leave() { force(WEFT_ENGINE_MANUAL); }

bool WeftPlayer::renew() {
    must(api_, api_.comm_free(&comm_), "weft_comm_free");
    must(api_, api_.comm_dup_with(made_from_, algorithm_.c_str(), &comm_), "weft_comm_dup_with");
    return true;
}

void WeftPlayer::start(const Collective& c, Case& k) {
    weft_request request = WEFT_REQUEST_NULL;
    if (form_ == CallForm::persistent) {
        weft_request& made = persistent_[&k];
        if (made == WEFT_REQUEST_NULL) {
            k.form = CallForm::persistent;
            must(api_, c.start(k, &made), c.name);
        }
        must(api_, api_.start(&made), "weft_start");
        request = made;
    } else {
        k.form = CallForm::nonblocking;
        must(api_, c.start(k, &request), c.name);
    }
    pending_.push_back(request);
}

bool WeftPlayer::test() {
    while (!pending_.empty()) {
        const weft_status status = api_.test(&pending_.back());
        if (status == WEFT_PENDING) return false;
        must(api_, status, "weft_test");
        pending_.pop_back();
    }
    return true;
}

void WeftPlayer::wait() {
    for (weft_request& request : pending_) must(api_, api_.wait(&request), "weft_wait");
    pending_.clear();
}

void WeftPlayer::call(const Collective& c, Case& k) {
    if (form_ != CallForm::blocking) return Player::call(c, k);
    k.form = CallForm::blocking;
    must(api_, c.start(k, nullptr), c.name);
}

void WeftPlayer::barrier() { must(api_, api_.barrier.call(comm_), "weft_barrier"); }

double WeftPlayer::unexpected_messages() const {
    if (&api_ != &own_api) return Player::unexpected_messages();
    std::uint64_t sum = 0;
    for (const Transport* transport : c_api::current_process()->executor().transports())
        sum += transport->unexpected_messages();
    return static_cast<double>(sum);
}

Job WeftPlayer::job(const Job& world) const { return {world.rank, world.ranks, comm_, &api_}; }

}  // namespace weft::bench
