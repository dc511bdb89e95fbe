#include "communicator/call/message_call.h"

#include "communicator/call/collectives.h"
#include "weft/collective.h"

namespace weft {

Result<std::int64_t> check_message(const MessageCall& call, Rank ranks,
                                   DeviceMemory device_memory) {
    if (!call.takes_any && (call.peer < 0 || call.peer >= ranks)) {
        return failure(WEFT_REFUSED_ARGUMENT, "%s = %d; expected 0..%d%s",
                       call.sends ? "dest" : "source", call.peer, ranks - 1,
                       call.sends ? "" : "; weft_irecv_any receives from any rank");
    }
    if (call.tag < 0 || call.tag > tag_max) {
        return failure(WEFT_REFUSED_ARGUMENT, "tag = %d; expected 0..%d", call.tag, tag_max);
    }
    if (type_bytes(call.type) == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(call.type));
    }
    Result<std::int64_t> bytes = block_bytes(call.count, call.type, 1, "count");
    if (!bytes.is_ok() || *bytes == 0) return bytes;
    if (call.data == nullptr || call.data == WEFT_IN_PLACE || device_memory != nullptr)
        [[unlikely]] {
        const BufferUse used{*bytes};
        WEFT_RETURN_IF_NOT_OK(check_buffers(nullptr, {}, call.data, used, "buf"));
        if (device_memory != nullptr)
            WEFT_RETURN_IF_NOT_OK(check_memory(nullptr, {}, call.data, used, "buf", device_memory));
    }
    return bytes;
}

}  // namespace weft
