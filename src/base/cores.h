// Sets of the machine's cores, by number and in ascending order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Those that the calling thread may use; empty if they cannot be known.
std::vector<int> own_cores();

// Those that this process could be bound to: of its cpuset, whatever its mask.
std::vector<int> reachable_cores();

// Binds the calling thread. False, and errno: the operating system refuses.
bool bind_to(const std::vector<int>& cores);

// Those that share an execution core with this one, including itself.
std::vector<int> siblings_of(int core);

// Whether everyone who may use one of these sets can have `each` cores that nobody else has.
bool are_enough(const std::vector<std::vector<int>>& sets, int each);

// "0,2-5". None: it is something else.
std::optional<std::vector<int>> parse_cores(std::string_view text);
std::string cores_text(const std::vector<int>& cores);

}  // namespace weft
