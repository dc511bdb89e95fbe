// One line of JSON, built field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

class JsonLine {
  public:
    JsonLine& add(std::string_view name, std::string_view value);
    JsonLine& add(std::string_view name, const char* value) {
        return add(name, std::string_view(value));
    }
    JsonLine& add(std::string_view name, std::int64_t value);
    JsonLine& add(std::string_view name, double value);
    JsonLine& add(std::string_view name, const std::vector<double>& values);
    JsonLine& add(std::string_view name, const std::vector<std::string>& values);
    JsonLine& add(std::string_view name, const std::vector<JsonLine>& objects);
    JsonLine& add(std::string_view name, const JsonLine& object);

    // "{...}" without a line end.
    std::string text() const { return text_ + "}"; }

  private:
    void begin_field(std::string_view name);
    template <class Item, class ToText>
    JsonLine& add_array(std::string_view name, const std::vector<Item>& items, ToText to_text);

    std::string text_ = "{";
};

}  // namespace weft::bench
