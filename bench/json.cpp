// Writing JSON.
#include "bench/json.h"

#include <cmath>
#include <cstdio>

namespace weft::bench {
namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            out += escape;
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string number(double value) {
    if (!std::isfinite(value)) return "null";  // JSON has neither infinities nor NaN
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

}  // namespace

void JsonLine::begin_field(std::string_view name) {
    if (text_.size() > 1) text_ += ", ";
    text_ += quoted(name) + ": ";
}

JsonLine& JsonLine::add(std::string_view name, std::string_view value) {
    begin_field(name);
    text_ += quoted(value);
    return *this;
}

JsonLine& JsonLine::add(std::string_view name, std::int64_t value) {
    begin_field(name);
    text_ += std::to_string(value);
    return *this;
}

JsonLine& JsonLine::add(std::string_view name, double value) {
    begin_field(name);
    text_ += number(value);
    return *this;
}

template <class Item, class ToText>
JsonLine& JsonLine::add_array(std::string_view name, const std::vector<Item>& items,
                              ToText to_text) {
    begin_field(name);
    text_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) text_ += ", ";
        text_ += to_text(items[i]);
    }
    text_ += ']';
    return *this;
}

JsonLine& JsonLine::add(std::string_view name, const std::vector<double>& values) {
    return add_array(name, values, number);
}

JsonLine& JsonLine::add(std::string_view name, const std::vector<std::string>& values) {
    return add_array(name, values, quoted);
}

JsonLine& JsonLine::add(std::string_view name, const std::vector<JsonLine>& objects) {
    return add_array(name, objects, [](const JsonLine& object) { return object.text(); });
}

JsonLine& JsonLine::add(std::string_view name, const JsonLine& object) {
    begin_field(name);
    text_ += object.text();
    return *this;
}

}  // namespace weft::bench
