// The bodies of weft/schedule.h.
#include "weft/schedule.h"

#include "c_api/guard.h"
#include "communicator/own/own_schedule.h"

using namespace weft;

namespace {

template <class Body>
weft_status on_schedule(const char* function, weft_schedule schedule, Body body) {
    return c_api::guarded_process(function, [&](Process& process) -> Status {
        OwnSchedule* found = process.schedules().find(reinterpret_cast<std::uintptr_t>(schedule));
        if (!found) {
            return failure(WEFT_REFUSED_HANDLE,
                           "schedule = %p; expected a schedule that has not been freed",
                           static_cast<void*>(schedule));
        }
        return body(process, *found);
    });
}

Result<Region> region_of(const weft_region& region) {
    // No bytes may lie anywhere, also in front of the buffer.
    const std::int64_t offset = region.bytes == 0 ? 0 : region.offset;
    switch (region.buffer) {
        case WEFT_SEND_BUFFER: return Region{Buffer::send, offset, region.bytes};
        case WEFT_RECV_BUFFER: return Region{Buffer::recv, offset, region.bytes};
        case WEFT_SCRATCH: return Region{Buffer::scratch, offset, region.bytes};
    }
    return failure(WEFT_REFUSED_ARGUMENT, "buffer = %d; expected one of weft_buffer",
                   static_cast<int>(region.buffer));
}

// `add` adds an operation to the schedule.
template <class Add>
weft_status add_node(const char* function, weft_schedule schedule, weft_node* node, Add add) {
    return on_schedule(function, schedule, [&](Process&, OwnSchedule& own) -> Status {
        Result<OwnSchedule::Node> added = add(own);
        if (added.is_ok() && node) *node = *added;
        return added.status();
    });
}

template <class Add>
weft_status add_node(const char* function, weft_schedule schedule, weft_region region,
                     weft_node* node, Add add) {
    return add_node(function, schedule, node, [&](OwnSchedule& own) -> Result<OwnSchedule::Node> {
        Result<Region> good = region_of(region);
        if (!good.is_ok()) return good.status();
        return add(own, *good);
    });
}

weft_status add_local(const char* function, weft_schedule schedule, OpKind kind, weft_region from,
                      weft_region into, weft_node* node) {
    return add_node(function, schedule, from, node,
                    [&](OwnSchedule& own, Region good_from) -> Result<OwnSchedule::Node> {
                        Result<Region> good_into = region_of(into);
                        if (!good_into.is_ok()) return good_into.status();
                        return own.local(kind, good_from, *good_into);
                    });
}

}  // namespace

weft_status weft_schedule_create(weft_comm comm, weft_schedule* schedule) {
    return c_api::guarded_communicator(
        "weft_schedule_create", comm, [&](Process& process, Communicator& communicator) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("schedule", schedule));
            *schedule = reinterpret_cast<weft_schedule>(process.make_schedule(communicator));
            return ok;
        });
}

weft_status weft_schedule_free(weft_schedule* schedule) {
    return on_schedule("weft_schedule_free", schedule ? *schedule : WEFT_SCHEDULE_NULL,
                       [&](Process& process, OwnSchedule& own) -> Status {
                           process.free(own);
                           *schedule = WEFT_SCHEDULE_NULL;
                           return ok;
                       });
}

weft_status weft_schedule_scratch(weft_schedule schedule, int64_t bytes, weft_region* region) {
    return on_schedule("weft_schedule_scratch", schedule,
                       [&](Process&, OwnSchedule& own) -> Status {
                           WEFT_RETURN_IF_NOT_OK(c_api::check_address("region", region));
                           Result<Region> taken = own.scratch(bytes);
                           if (!taken.is_ok()) return taken.status();
                           *region = {WEFT_SCRATCH, taken->offset, taken->bytes};
                           return ok;
                       });
}

weft_status weft_schedule_send(weft_schedule schedule, weft_region from, int peer,
                               weft_node* node) {
    return add_node("weft_schedule_send", schedule, from, node,
                    [&](OwnSchedule& own, Region region) { return own.send(region, peer); });
}

weft_status weft_schedule_recv(weft_schedule schedule, weft_region into, int peer,
                               weft_node* node) {
    return add_node("weft_schedule_recv", schedule, into, node,
                    [&](OwnSchedule& own, Region region) { return own.recv(region, peer); });
}

weft_status weft_schedule_copy(weft_schedule schedule, weft_region from, weft_region into,
                               weft_node* node) {
    return add_local("weft_schedule_copy", schedule, OpKind::copy, from, into, node);
}

weft_status weft_schedule_reduce(weft_schedule schedule, weft_region from, weft_region into,
                                 weft_node* node) {
    return add_local("weft_schedule_reduce", schedule, OpKind::reduce, from, into, node);
}

weft_status weft_schedule_reduce_right(weft_schedule schedule, weft_region from, weft_region into,
                                       weft_node* node) {
    return add_local("weft_schedule_reduce_right", schedule, OpKind::reduce_right, from, into,
                     node);
}

weft_status weft_schedule_call(weft_schedule schedule, weft_region data,
                               weft_schedule_function function, void* context, weft_node* node) {
    return add_node("weft_schedule_call", schedule, data, node,
                    [&](OwnSchedule& own, Region region) {
                        return own.call(region, {function, context});
                    });
}

weft_status weft_schedule_join(weft_schedule schedule, weft_node* node) {
    return add_node("weft_schedule_join", schedule, node,
                    [](OwnSchedule& own) { return own.join(); });
}

weft_status weft_schedule_after(weft_schedule schedule, weft_node node, weft_node predecessor) {
    return on_schedule("weft_schedule_after", schedule,
                       [&](Process&, OwnSchedule& own) { return own.order(predecessor, node); });
}

weft_status weft_schedule_seal(weft_schedule schedule) {
    return on_schedule("weft_schedule_seal", schedule,
                       [](Process&, OwnSchedule& own) { return own.seal(); });
}

weft_status weft_schedule_check(weft_schedule schedule) {
    const char* function = "weft_schedule_check";
    std::vector<Schedule> schedules;
    weft_status collected =
        on_schedule(function, schedule, [&](Process&, OwnSchedule& own) -> Status {
            WEFT_RETURN_IF_NOT_OK(own.check_sealed());
            Result<std::vector<Schedule>> all = collect_schedules(own);
            if (all.is_ok()) schedules = std::move(*all);
            return all.status();
        });
    if (collected != WEFT_OK) return collected;
    // This may take long: the engine is not held, and other operations go on.
    const weft_status checked =
        c_api::guarded(function, [&] { return check_schedules(schedules); });
    if (checked != WEFT_REFUSED_MEMORY) return checked;
    // The other ranks are through with this call: it cannot be made again.
    return on_schedule(function, schedule, [](Process&, OwnSchedule& own) {
        return own.communicator().run_out_of_memory("schedule_check");
    });
}

weft_status weft_schedule_init(weft_schedule schedule, const void* send_buf, void* recv_buf,
                               weft_type type, weft_op op, weft_request* request) {
    return on_schedule(
        "weft_schedule_init", schedule, [&](Process& process, OwnSchedule& own) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("request", request));
            Result<Request*> made = own.make_request(send_buf, recv_buf, type, op);
            if (!made.is_ok()) return made.status();
            *request = reinterpret_cast<weft_request>(process.requests().handle((*made)->place));
            return ok;
        });
}
