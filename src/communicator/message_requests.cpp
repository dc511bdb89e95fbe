// Sends and receives of the program's.
#include "communicator/communicator.h"
#include "schedule/builder.h"

namespace weft {

// A request of the call, which is not started. All have one schedule: what differs between two
// messages is in their TaggedMessage.
Result<Request*> Communicator::take(const MessageCall& call) {
    if (group_.broken.code != WEFT_OK) {
        const Rank peer = call.takes_any ? any_source : call.peer;
        return broken_status(name_of_message(call.sends, peer, call.tag), group_.broken);
    }
    const Result<std::int64_t> bytes = check_message(call, place_.ranks, host_.devices.find());
    if (!bytes.is_ok()) return bytes.status();
    if (of_messages_ == nullptr) {
        ScheduleBuilder builder(place_.rank, place_.ranks);
        builder.join({});
        Result<Schedule> schedule = builder.seal();
        if (!schedule.is_ok()) return schedule.status();
        of_messages_ = &schedules_.keep(std::move(*schedule), {});
        of_messages_->is_of_messages = true;
    }
    Request& request = take(*of_messages_);
    TaggedMessage& message = *request.message();
    message.stream = stream_of_tag(group_.context, call.tag);
    message.peer = call.takes_any ? any_source : call.peer;
    message.sends = call.sends;
    message.data = static_cast<std::byte*>(call.data);
    message.bytes = static_cast<std::size_t>(*bytes);
    message.source = call.source;
    return &request;
}

void Communicator::launch_message(Request& request) {
    request.active = true;
    host_.engine.start_message(request, calls_);
}

Result<Request*> Communicator::start(const MessageCall& call) {
    WEFT_RETURN_IF_NOT_OK(check_starter());
    Result<Request*> request = take(call);
    if (request.is_ok()) launch_message(**request);
    return request;
}

Result<Request*> Communicator::make_persistent(const MessageCall& call) {
    auto persistent = std::make_unique<Request::Persistent>();
    Result<Request*> request = take(call);
    if (request.is_ok()) (*request)->persistent = std::move(persistent);
    return request;
}

}  // namespace weft
