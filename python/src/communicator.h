// Communicators.
#pragma once

#include <utility>

#include "common.h"

namespace weft_python {

class Comm {
  public:
    // `is_owned`: freed with the object.
    Comm(weft_comm handle, bool is_owned);
    Comm(Comm&& other) noexcept;
    ~Comm();

    weft_comm handle() const { return handle_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    void free();
    // How many blocks come from neighbors, and go to them.
    std::pair<int, int> degrees(const char* call) const;

  private:
    weft_comm handle_;
    int rank_ = 0;
    int size_ = 0;
    bool is_owned_;
};

void define_collectives(nb::class_<Comm>& comm, nb::module_& module);
void define_messages(nb::class_<Comm>& comm, nb::module_& module);

}  // namespace weft_python
