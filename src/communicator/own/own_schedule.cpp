#include "communicator/own/own_schedule.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "communicator/communicator.h"
#include "schedule/check/check.h"
#include "schedule/pack.h"
#include "schedule/text.h"

namespace weft {
namespace {

using Long = long long;

constexpr std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max() / 2;

bool overlap(Region a, Region b) {
    return a.buffer == b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

OwnSchedule::OwnSchedule(Communicator& communicator, std::uint32_t number)
    : communicator_(communicator),
      number_(number),
      builder_(communicator.rank(), communicator.ranks()) {}

void OwnSchedule::free() {
    if (prepared_) communicator_.schedules().let_go(*prepared_);
    communicator_.let_go();
}

// --- What is refused -----------------------------------------------------------------------------

Status OwnSchedule::check_open() const {
    if (prepared_) {
        return failure(WEFT_REFUSED_STATE, "the schedule is sealed; expected an open one");
    }
    if (ops_ == Schedule::no_issue) {
        return failure(WEFT_REFUSED_MEMORY, "the schedule has %u operations; expected fewer", ops_);
    }
    return ok;
}

Status OwnSchedule::check_sealed() const {
    if (prepared_) return ok;
    return failure(WEFT_REFUSED_STATE, "the schedule is open; expected a sealed one");
}

Status OwnSchedule::check_peer(Rank peer) const {
    const Rank ranks = communicator_.ranks();
    if (peer >= 0 && peer < ranks && peer != communicator_.rank()) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "peer = %d; expected 0..%d other than this rank, %d",
                   peer, ranks - 1, communicator_.rank());
}

Status OwnSchedule::check_region(const char* name, Region region, bool written) const {
    if (region.offset < 0 || region.bytes < 0 || region.offset > bytes_max ||
        region.bytes > bytes_max) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "%s has bytes = %lld at offset %lld; expected 0..%lld of each", name,
                       Long{region.bytes}, Long{region.offset}, Long{bytes_max});
    }
    if (region.bytes == 0) return ok;
    if (region.buffer == Buffer::scratch && region.offset + region.bytes > scratch_bytes_) {
        return failure(WEFT_REFUSED_ARGUMENT, "%s = %s; expected a part of the scratch, %lld bytes",
                       name, to_text(region).c_str(), Long{scratch_bytes_});
    }
    if (region.buffer == Buffer::send && written) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "%s = %s would be written; expected WEFT_RECV_BUFFER or WEFT_SCRATCH", name,
                       to_text(region).c_str());
    }
    return ok;
}

Status OwnSchedule::check_node(const char* name, Node node) const {
    const auto id = static_cast<OpId>(node) - 1;
    if (node >> 32 == number_ && id < ops_) return ok;
    return failure(WEFT_REFUSED_HANDLE, "%s = %#llx; expected a node of this schedule", name,
                   static_cast<unsigned long long>(node));
}

// --- Building ------------------------------------------------------------------------------------

Result<OwnSchedule::Node> OwnSchedule::send(Region from, Rank peer) {
    WEFT_RETURN_IF_NOT_OK(check_open());
    WEFT_RETURN_IF_NOT_OK(check_region("from", from, false));
    WEFT_RETURN_IF_NOT_OK(check_peer(peer));
    ops_ = builder_.send(from, peer) + 1;
    return node_of(ops_ - 1);
}

Result<OwnSchedule::Node> OwnSchedule::recv(Region into, Rank peer) {
    WEFT_RETURN_IF_NOT_OK(check_open());
    WEFT_RETURN_IF_NOT_OK(check_region("into", into, true));
    WEFT_RETURN_IF_NOT_OK(check_peer(peer));
    ops_ = builder_.recv(into, peer) + 1;
    return node_of(ops_ - 1);
}

Result<OwnSchedule::Node> OwnSchedule::local(OpKind kind, Region from, Region into) {
    WEFT_RETURN_IF_NOT_OK(check_open());
    WEFT_RETURN_IF_NOT_OK(check_region("from", from, kind == OpKind::reduce_right));
    WEFT_RETURN_IF_NOT_OK(check_region("into", into, true));
    if (from.bytes != into.bytes) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "from has %lld bytes and into %lld; expected equal sizes", Long{from.bytes},
                       Long{into.bytes});
    }
    if (overlap(from, into)) {
        return failure(WEFT_REFUSED_ARGUMENT, "from = %s overlaps into = %s", to_text(from).c_str(),
                       to_text(into).c_str());
    }
    ops_ = (kind == OpKind::copy     ? builder_.copy(from, into)
            : kind == OpKind::reduce ? builder_.reduce(from, into)
                                     : builder_.reduce_right(from, into)) +
           1;
    return node_of(ops_ - 1);
}

Result<OwnSchedule::Node> OwnSchedule::call(Region data, UserCall call) {
    WEFT_RETURN_IF_NOT_OK(check_open());
    WEFT_RETURN_IF_NOT_OK(check_region("data", data, true));
    if (!call.function) {
        return failure(WEFT_REFUSED_ARGUMENT, "function = null; expected a function");
    }
    calls_.push_back(call);
    ops_ = builder_.call(data, static_cast<std::int32_t>(calls_.size()) - 1) + 1;
    return node_of(ops_ - 1);
}

Result<OwnSchedule::Node> OwnSchedule::join() {
    WEFT_RETURN_IF_NOT_OK(check_open());
    ops_ = builder_.join({}) + 1;
    return node_of(ops_ - 1);
}

Status OwnSchedule::order(Node before, Node after) {
    WEFT_RETURN_IF_NOT_OK(check_open());
    WEFT_RETURN_IF_NOT_OK(check_node("node", after));
    if (before == 0) return ok;
    WEFT_RETURN_IF_NOT_OK(check_node("predecessor", before));
    builder_.order(static_cast<OpId>(before) - 1, static_cast<OpId>(after) - 1);
    return ok;
}

Result<Region> OwnSchedule::scratch(std::int64_t bytes) {
    WEFT_RETURN_IF_NOT_OK(check_open());
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (bytes < 0 || bytes > most - scratch_bytes_) {
        return failure(WEFT_REFUSED_ARGUMENT, "bytes = %lld; expected 0..%lld", Long{bytes},
                       Long{std::max<std::int64_t>(most - scratch_bytes_, 0)});
    }
    Region region = builder_.scratch(bytes);
    scratch_bytes_ = region.offset + region.bytes;
    return region;
}

// --- Use -----------------------------------------------------------------------------------------

Status OwnSchedule::seal() {
    WEFT_RETURN_IF_NOT_OK(check_open());
    // A copy: a builder that has refused cannot be used anymore.
    Result<Schedule> sealed = ScheduleBuilder(builder_).seal();
    if (!sealed.is_ok()) return sealed.status();
    ScheduleBuilder empty(communicator_.rank(), communicator_.ranks());
    prepared_ = &communicator_.schedules().keep(std::move(*sealed), calls_);
    builder_ = std::move(empty);
    return ok;
}

namespace {

// Only the program knows what its schedule's operands and results are.
Status refuse_scaling(weft_op op) {
    return failure(WEFT_REFUSED_ARGUMENT,
                   "op = %s; expected an operation that only combines, such as sum: a schedule "
                   "may scale by its own functions",
                   op == WEFT_AVG ? op_name(op) : "a premultiplied sum");
}

}  // namespace

// Binds the reduction, if the schedule reduces. Refuses elements that are not whole or not aligned.
Result<Reduction> OwnSchedule::bind(weft_type type, weft_op op) const {
    Result<Reduction> reduction(Reduction{});
    for (OpId id = 0; id < schedule().ops().size(); ++id) {
        const Op& node = schedule().ops()[id];
        if (!node.reduces()) continue;
        if (!reduction->kernel && !reduction->user) {
            reduction = bind_reduction(op, type);
            if (!reduction.is_ok()) return reduction;
            if (reduction->scale != Scale::none) return refuse_scaling(op);
        }
        const auto element = static_cast<std::int64_t>(type_bytes(type));
        const auto alignment = static_cast<std::int64_t>(type_alignment(type));
        if (node.bytes % element == 0 && node.from_offset % alignment == 0 &&
            node.into_offset % alignment == 0) {
            continue;
        }
        return failure(WEFT_REFUSED_ARGUMENT,
                       "operation %u (%s); expected whole elements of %s, %lld bytes, at "
                       "multiples of %lld",
                       id, to_text(node).c_str(), type_name(type).c_str(), Long{element},
                       Long{alignment});
    }
    return reduction;
}

Result<Request*> OwnSchedule::make_request(const void* send_buf, void* recv_buf, weft_type type,
                                           weft_op op) {
    WEFT_RETURN_IF_NOT_OK(check_sealed());
    const Failure& broken = communicator_.group().broken;
    if (broken.code != WEFT_OK) return communicator_.broken_status("schedule", broken);
    Result<Reduction> reduction = bind(type, op);
    if (!reduction.is_ok()) return reduction.status();
    const BufferUse send{schedule().reach(Buffer::send)};
    const BufferUse recv{schedule().reach(Buffer::recv)};
    WEFT_RETURN_IF_NOT_OK(check_buffers(send_buf, send, recv_buf, recv, "recv_buf"));
    if (const DeviceMemory device_memory = communicator_.device_memory()) {
        WEFT_RETURN_IF_NOT_OK(
            check_memory(send_buf, send, recv_buf, recv, "recv_buf", device_memory));
    }
    Binding binding;
    binding.send = static_cast<const std::byte*>(send_buf);
    binding.recv = static_cast<std::byte*>(recv_buf);
    binding.reduction = *reduction;
    binding.calls = prepared_->calls.data();
    return communicator_.make_persistent(*prepared_, binding);
}

// --- Checking with all ranks ---------------------------------------------------------------------

namespace {

// All ranks' schedules. The others wait for this rank's: if this rank runs out of memory, the
// communicator breaks.
Result<std::vector<Schedule>> swap_schedules(Communicator& communicator,
                                             std::vector<std::byte> mine,
                                             const std::vector<std::size_t>& sizes) try {
    const std::size_t ranks = sizes.size();
    const std::size_t largest = *std::ranges::max_element(sizes);
    mine.resize(largest);
    std::vector<std::byte> all(largest * ranks);
    WEFT_RETURN_IF_NOT_OK(
        allgather_and_wait(communicator, "schedule_check", mine.data(), all.data(), largest));

    // A rank may exit as soon as it has its verdict, so it first waits until all ranks have the
    // schedules. A failure in the meantime changes no verdict.
    const std::byte here{};
    std::vector<std::byte> all_here(ranks);
    const Status met =
        allgather_and_wait(communicator, "schedule_check", &here, all_here.data(), 1);
    if (!met.is_ok() && !met.is_broken()) return met;

    std::vector<Schedule> schedules;
    for (std::size_t r = 0; r < ranks; ++r) {
        Result<Schedule> schedule = unpack(std::span(all).subspan(r * largest, sizes[r]),
                                           static_cast<Rank>(r), communicator.ranks());
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
} catch (const std::bad_alloc&) {
    return communicator.run_out_of_memory("schedule_check");
}

}  // namespace

Result<std::vector<Schedule>> collect_schedules(const OwnSchedule& own) {
    Communicator& communicator = own.communicator();
    WEFT_RETURN_IF_NOT_OK(communicator.check_starter());
    Keeping keeping(communicator);
    std::vector<std::byte> mine = pack(own.schedule());

    const std::size_t size = mine.size();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(communicator.ranks()));
    WEFT_RETURN_IF_NOT_OK(
        allgather_and_wait(communicator, "schedule_check", &size, sizes.data(), sizeof size));
    return swap_schedules(communicator, std::move(mine), sizes);
}

Status check_schedules(std::span<const Schedule> schedules) {
    const Verdict verdict = check(schedules);
    if (verdict.holds()) return ok;
    const Finding& first = verdict.findings.front();
    return failure(WEFT_REFUSED_ARGUMENT, "%s: %s", flaw_name(first.flaw), first.sentence.c_str());
}

}  // namespace weft
