// Which of two launchers is the inner one, where a process has the variables of both.
#pragma once

#include <initializer_list>

namespace weft {

using VariableNames = std::initializer_list<const char*>;

// Whether `later` were set further in than `earlier`: an ancestor of this process was started with
// the values that `earlier` have here, but not with those of `later`. False also if ancestors
// cannot be seen.
bool were_set_below(VariableNames later, VariableNames earlier);

}  // namespace weft
