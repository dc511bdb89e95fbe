#include "lab/wrap/recording.h"

namespace weft {
namespace {

const char* posted_name(Posted posted) {
    switch (posted) {
        case Posted::pending: return "pending";
        case Posted::done: return "done";
        case Posted::busy: return "busy";
    }
    return "?";
}

std::string describe(const RecordingTransport::Event& record) {
    using What = RecordingTransport::What;
    std::string peer = std::to_string(record.lane.peer);
    std::string op = "op " + std::to_string(record.token.op) + ": ";
    switch (record.what) {
        case What::send:
        case What::recv:
            return (record.what == What::send ? "send " : "recv ") + std::to_string(record.bytes) +
                   (record.what == What::send ? " bytes to " : " bytes from ") + peer +
                   " (context " + std::to_string(record.lane.stream.context()) + ", stream " +
                   std::to_string(record.lane.stream.stream()) + ") " + op +
                   posted_name(record.posted);
        case What::completion: return "completed " + op + status_name(record.code);
        case What::lost: return "lost " + peer;
        case What::abandon:
            return "abandon context " + std::to_string(record.lane.stream.context());
    }
    return "?";
}

}  // namespace

std::string RecordingTransport::text() const {
    std::string text;
    for (const Event& record : records_) text += describe(record) + '\n';
    return text;
}

Posted RecordingTransport::post_send(const Lane& lane, Bytes data, Token token) {
    Posted posted = inner_.post_send(lane, data, token);
    records_.push_back({What::send, lane, data.size(), token, posted});
    return posted;
}

Posted RecordingTransport::receive(const Lane& lane, MutBytes data, const Combination* combination,
                                   Token token) {
    Posted posted = ForwardingTransport::receive(lane, data, combination, token);
    records_.push_back({What::recv, lane, data.size(), token, posted});
    return posted;
}

std::size_t RecordingTransport::poll(std::span<Completion> done) {
    std::size_t reported = inner_.poll(done);
    for (const Completion& completion : done.first(reported)) {
        Event record;
        record.what = completion.token.run ? What::completion : What::lost;
        record.lane.peer = completion.peer;
        record.token = completion.token;
        record.code = completion.code;
        records_.push_back(record);
    }
    return reported;
}

void RecordingTransport::cancel_context(std::uint64_t context) {
    inner_.cancel_context(context);
    Event record;
    record.what = What::abandon;
    record.lane.stream = {context, 0};
    records_.push_back(record);
}

}  // namespace weft
