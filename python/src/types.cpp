#include "types.h"

#include <cstring>

namespace weft_python {
namespace {

constexpr Type types[] = {
#define TYPE(name, type, kind, bytes) {name, type, kind, bytes},
#include "types.def"
#undef TYPE
};

// "T{d:value:i:index:4x}": behind the colon that ends the name which begins at `at`.
const char* behind_name(const char* at) {
    const char* const end = std::strchr(at + 1, ':');
    return end ? end : at + std::strlen(at) - 1;
}

}  // namespace

const Type* find_type(const char* kind, std::size_t bytes) {
    for (const Type& type : types) {
        if (type.bytes == bytes && std::strcmp(type.kind, kind) == 0) return &type;
    }
    return nullptr;
}

const Type* find_named_type(const char* name) {
    for (const Type& type : types) {
        if (std::strcmp(type.name, name) == 0) return &type;
    }
    return nullptr;
}

const Type& expect_type(nb::handle dtype, const char* call) {
    nb::object name = nb::borrow(dtype);
    if (!nb::isinstance<nb::str>(name)) {
        name = nb::module_::import_("numpy").attr("dtype")(name).attr("name");
    }
    const std::string text = nb::cast<std::string>(name);
    if (const Type* const type = find_named_type(text.c_str())) return *type;
    refuse("type '" + text + "'; expected a name such as 'float32'", call);
}

const char* name_of_type(weft_type type) {
    for (const Type& known : types) {
        if (known.type == type) return known.name;
    }
    return "opaque";
}

std::string kind_of_format(const char* format) {
    if (!format) return "u";  // as the buffer protocol has it
    std::string kind;
    for (const char* at = format; *at; ++at) {
        if (std::strchr("bhilqn", *at)) {
            kind += 'i';
        } else if (std::strchr("BHILQN", *at)) {
            kind += 'u';
        } else if (std::strchr("efdg", *at)) {
            kind += 'f';
        } else if (*at == '?') {
            kind += 'b';
        } else if (*at == 'c') {
            kind += 'c';
        } else if (*at == 'Z') {
            kind += 'z';
            if (at[1]) ++at;
        } else if (*at == ':') {
            at = behind_name(at);
        } else if (*at >= '0' && *at <= '9') {
            if (!std::strchr("0123456789x", at[1])) return "";  // an array, not padding
        } else if (!std::strchr("T{}x@=<^", *at)) {
            return "";
        }
    }
    return kind;
}

std::string kind_of_type_string(const std::string& text) {
    if (text.size() < 3 || text[0] == '>') return "";
    if (text[1] == 'c') return "z";
    return std::strchr("iufb", text[1]) ? text.substr(1, 1) : "";
}

}  // namespace weft_python
