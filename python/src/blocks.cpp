#include "blocks.h"

#include <algorithm>

namespace weft_python {

std::vector<std::size_t> sizes(nb::handle sequence, Argument argument) {
    std::vector<std::size_t> result;
    for (nb::handle item : nb::tuple(sequence)) {
        const Py_ssize_t size = PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError);
        if (size == -1 && PyErr_Occurred()) throw nb::python_error();
        if (size < 0) {
            refuse(
                argument.name + (" has a number " + std::to_string(size)) + "; expected 0 or more",
                argument.call);
        }
        result.push_back(static_cast<std::size_t>(size));
    }
    return result;
}

void check_length(std::size_t length, std::size_t blocks, const char* what, Argument argument) {
    if (length == blocks) return;
    refuse(argument.name + (" has " + std::to_string(length)) + " " + what + "; expected " +
               std::to_string(blocks),
           argument.call);
}

nb::handle Layout::take(nb::handle list, std::size_t blocks, bool typed, Argument argument) {
    const std::string expected = typed ? "[buffer, counts, displacements, types]"
                                       : "[buffer, counts] or [buffer, counts, displacements]";
    if (!PyList_Check(list.ptr()) && !PyTuple_Check(list.ptr())) {
        refuse(argument.name + (" has no counts; expected " + expected), argument.call);
    }
    const nb::tuple parts(list);
    if (typed ? parts.size() != 4 : parts.size() < 2 || parts.size() > 3) {
        refuse(argument.name + (" has " + std::to_string(parts.size())) + " parts; expected " +
                   expected,
               argument.call);
    }
    counts = sizes(nb::object(parts[1]), argument);
    check_length(counts.size(), blocks, "counts", argument);
    if (parts.size() > 2 && !parts[2].is_none()) {
        const std::vector<std::size_t> places = sizes(nb::object(parts[2]), argument);
        check_length(places.size(), blocks, "displacements", argument);
        displacements.assign(places.begin(), places.end());
    }
    if (typed) {
        const nb::object names = parts[3];
        for (nb::handle name : nb::tuple(names)) {
            types.push_back(expect_type(name, argument.call).type);
        }
        check_length(types.size(), blocks, "types", argument);
    }
    return parts[0].ptr();
}

template <class Visit>
void Layout::for_each_block(Visit visit) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::size_t begin =
            displacements.empty() ? next : static_cast<std::size_t>(displacements[i]);
        visit(i, begin);
        next = begin + counts[i] * unit(i);
    }
}

std::size_t Layout::extent() const {
    std::size_t end = 0;
    for_each_block([&](std::size_t i, std::size_t begin) {
        if (counts[i] != 0) end = std::max(end, begin + counts[i] * unit(i));
    });
    return end;
}

void Layout::check_inside(const Buffer& buffer, Argument argument) const {
    const std::size_t room = types.empty() ? buffer.elements() : buffer.bytes();
    for_each_block([&](std::size_t i, std::size_t begin) {
        if (counts[i] == 0) return;
        if (begin <= room && counts[i] <= (room - begin) / unit(i)) return;
        refuse(argument.name + (" has " + std::to_string(room)) +
                   (types.empty() ? " elements" : " bytes") + "; block " + std::to_string(i) +
                   " begins at " + std::to_string(begin) + " and has " + std::to_string(counts[i]) +
                   " elements",
               argument.call);
    });
}

}  // namespace weft_python
