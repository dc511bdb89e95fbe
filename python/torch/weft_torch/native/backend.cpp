#include "backend.h"

#include <algorithm>
#include <utility>

#include "failure.h"
#include "rendezvous.h"
#include "starting.h"

namespace weft_torch {
namespace {

constexpr std::size_t named_ranks_max = 8;

// "group 3 of global ranks 1, 2; rank 0 of 2": Weft's sentences name ranks by their place there.
std::string describe(const WeftOptions& options, int rank, int size,
                     const std::vector<std::int64_t>& global_ranks) {
    std::string text = "group " + options.group_name;
    bool is_world = true;
    for (std::size_t i = 0; i < global_ranks.size(); ++i)
        is_world = is_world && global_ranks[i] == static_cast<std::int64_t>(i);
    for (std::size_t i = 0; !is_world && i < global_ranks.size(); ++i) {
        text += (i == 0 ? " of global ranks " : ", ");
        if (i == named_ranks_max) {
            text += "...";
            break;
        }
        text += std::to_string(global_ranks[i]);
    }
    return text + "; rank " + std::to_string(rank) + " of " + std::to_string(size);
}

// With the group's settings, if it has any.
weft_comm make_comm(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                    const WeftOptions& options, const std::string& where) {
    weft_comm comm = rendezvous(store, rank, size, options.timeout, where);
    if (options.settings.empty()) return comm;
    weft_comm with_settings = WEFT_COMM_NULL;
    const weft_status status = weft_comm_dup_with(comm, options.settings.c_str(), &with_settings);
    const std::exception_ptr failure = status == WEFT_OK ? nullptr : failure_of(status, where);
    (void)weft_comm_free(&comm);
    if (failure) std::rethrow_exception(failure);
    return with_settings;
}

}  // namespace

WeftBackend::WeftBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                         c10::intrusive_ptr<WeftOptions> options,
                         std::vector<std::int64_t> global_ranks)
    : Backend(rank, size),
      options_(std::move(options)),
      global_ranks_(std::move(global_ranks)),
      name_(std::make_shared<const std::string>(describe(*options_, rank, size, global_ranks_))),
      timeout_ms_(options_->timeout.count()) {
    comm_ = make_comm(store, rank, size, *options_, "weft init (" + *name_ + ")");
    init();
}

WeftBackend::~WeftBackend() { shutdown(); }

void WeftBackend::shutdown() {
    const std::lock_guard lock(starts_);
    if (comm_ != WEFT_COMM_NULL) (void)weft_comm_free(&comm_);
    comm_ = WEFT_COMM_NULL;
}

void WeftBackend::abort() {
    const std::lock_guard lock(starts_);
    if (comm_ == WEFT_COMM_NULL) return;
    check(weft_comm_abort(comm_, "the process group was aborted"), "weft abort (" + *name_ + ")");
}

c10::intrusive_ptr<c10d::Backend> WeftBackend::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<c10d::Backend::Options>& options) {
    const auto own = std::find(ranks.begin(), ranks.end(), rank_);
    if (own == ranks.end()) return nullptr;
    std::vector<std::int64_t> global_ranks;
    for (const int rank : ranks) {
        const auto place = static_cast<std::size_t>(rank);
        global_ranks.push_back(place < global_ranks_.size() ? global_ranks_[place] : rank);
    }
    auto child = c10::make_intrusive<WeftOptions>(
        options ? options->timeout : Milliseconds(timeout_ms_.load()), options_->settings);
    child->group_name = options ? options->group_name : options_->group_name + "/split";
    child->group_desc = options ? options->group_desc : "";
    if (const auto* const given = dynamic_cast<const WeftOptions*>(options.get()))
        child->settings = given->settings;
    return c10::make_intrusive<WeftBackend>(store, static_cast<int>(own - ranks.begin()),
                                            static_cast<int>(ranks.size()), child, global_ranks);
}

c10::intrusive_ptr<c10d::Backend> WeftBackend::merge(
    const c10::intrusive_ptr<c10d::Store>& store,
    const c10::intrusive_ptr<c10d::Backend::Options>& options, const int& rank, const int& size) {
    auto merged = c10::make_intrusive<WeftOptions>(
        options ? options->timeout : Milliseconds(timeout_ms_.load()), options_->settings);
    merged->group_name = options ? options->group_name : options_->group_name + "/merged";
    return c10::make_intrusive<WeftBackend>(store, rank, size, merged, std::vector<std::int64_t>());
}

// --- Calls ---------------------------------------------------------------------------------------

Milliseconds WeftBackend::timeout_of(Milliseconds asked) const {
    return asked == c10d::kUnsetTimeout ? Milliseconds(timeout_ms_.load()) : asked;
}

void WeftBackend::check_root(std::int64_t root, const char* call) const {
    TORCH_CHECK_VALUE(root >= 0 && root < size_, "weft ", call, ": invalid root rank: ", root,
                      "; expected 0..", size_ - 1);
}

WeftBackend::Starting WeftBackend::begin(c10d::OpType type, const char* title, Milliseconds timeout,
                                         Tensors outputs, const Tensors& inputs) {
    (void)Orphans().sweep();
    std::atomic<std::uint64_t>& counter = c10d::isP2POp(type) ? messages_ : collectives_;
    return c10::make_intrusive<WeftWork>(rank_, type, Call{title, name_, ++counter},
                                         timeout_of(timeout), std::move(outputs), inputs);
}

WorkPtr WeftBackend::started(const Starting& work) {
    const std::lock_guard lock(starts_);
    if (is_coalescing_) coalesced_.push_back(work);
    return work;
}

// Operations of a coalescing region start as they are called. What torch wants is one Work.
void WeftBackend::startCoalescing() {
    const std::lock_guard lock(starts_);
    is_coalescing_ = true;
    coalesced_.clear();
}

WorkPtr WeftBackend::endCoalescing() {
    const std::lock_guard lock(starts_);
    is_coalescing_ = false;
    return c10::make_intrusive<CoalescedWork>(rank_, std::exchange(coalesced_, {}));
}

}  // namespace weft_torch
