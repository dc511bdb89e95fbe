#include "reduce/user_ops.h"

#include <memory>
#include <mutex>

#include "base/handles.h"

namespace weft {
namespace {

struct Table {
    std::mutex mutex;
    HandleTable<UserOp> ops;  // guarded by mutex; owns the operations
};

// Never destroyed: static objects of the program may use operations while they are destroyed.
Table& table() {
    static Table& instance = *new Table;
    return instance;
}

std::uintptr_t value_of(weft_op op) { return reinterpret_cast<std::uintptr_t>(op); }

Status no_such_op(weft_op op) {
    return failure(WEFT_REFUSED_HANDLE, "op handle %p was freed, or never made by weft_op_create",
                   static_cast<void*>(op));
}

}  // namespace

weft_op add_user_op(UserOp user) {
    Table& t = table();
    auto object = std::make_unique<UserOp>(user);
    std::lock_guard lock(t.mutex);
    std::uint32_t place = t.ops.add(object.get());
    object.release();
    return reinterpret_cast<weft_op>(t.ops.handle(place));
}

Result<UserOp> find_user_op(weft_op op) {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    const UserOp* user = t.ops.find(value_of(op));
    if (!user) return no_such_op(op);
    return *user;
}

Status remove_user_op(weft_op op) {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    std::unique_ptr<UserOp> user(t.ops.find(value_of(op)));
    if (!user) return no_such_op(op);
    t.ops.remove(static_cast<std::uint32_t>(value_of(op)) - 1);
    return ok;
}

}  // namespace weft
