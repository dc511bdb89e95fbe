// Posts of messages that are known to the other end by a ticket.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft {

// Removes the post with this ticket; null: it is gone.
template <class Post>
Post* take_with_ticket(std::vector<Post*>& posts, std::uint64_t ticket) {
    const auto place = std::ranges::find(posts, ticket, &Post::ticket);
    if (place == posts.end()) return nullptr;
    Post* const post = *place;
    posts.erase(place);
    return post;
}

}  // namespace weft
