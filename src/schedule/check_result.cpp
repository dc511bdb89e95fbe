// Whether the buffers hold in the end what the collective promises.
#include <algorithm>

#include "schedule/check_parts.h"
#include "schedule/text.h"

namespace weft::checking {
namespace {

std::string bytes_text(std::int64_t begin, std::int64_t bytes) {
    return "bytes [" + std::to_string(begin) + ".." + std::to_string(begin + bytes) + ")";
}

class Result {
  public:
    Result(const Promise& promise, Terms& terms, Findings& findings)
        : promise_(promise), terms_(terms), findings_(findings) {
        for (const Holding& held : promise.after) {
            if (held.source == everyone) {
                combined_bytes_ = std::max(combined_bytes_, held.origin + held.where.bytes);
            }
        }
        combined_ = Memory(combined_bytes_);
    }

    void check(const Holding& held, Memory& memory) {
        value_.clear();
        memory.read(held.where.offset, held.where.bytes, value_);
        std::int64_t done = 0;
        for (const Stretch& stretch : value_) {
            if (!is_right(stretch, held, done)) {
                complain(held, done, stretch);
                return;
            }
            done += stretch.bytes;
        }
        if (held.source == everyone) compare_bits(held);
    }

  private:
    bool is_right(const Stretch& stretch, const Holding& held, std::int64_t done) {
        if (stretch.term == undefined || stretch.origin != held.origin + done) return false;
        if (held.source == everyone) return terms_.is_everyone(stretch.term);
        return stretch.term == terms_.contribution(held.source);
    }

    void complain(const Holding& held, std::int64_t done, const Stretch& stretch) {
        const Region where = held.where.part(done, stretch.bytes);
        std::string sentence = to_text(where) + " of rank " + std::to_string(held.rank) + " holds ";
        sentence += terms_.text(stretch.term);
        if (stretch.term != undefined) sentence += ' ' + bytes_text(stretch.origin, stretch.bytes);
        sentence += "; promised: ";
        sentence += held.source == everyone ? "the combination of all ranks"
                                            : "rank " + std::to_string(held.source) + "'s";
        if (held.source == everyone && !promise_.commutative) sentence += " in rank order";
        sentence += ' ' + bytes_text(held.origin + done, stretch.bytes);
        findings_.add(Flaw::result, std::move(sentence));
    }

    // The first rank that gets an element decides by which expression the others must get it.
    void compare_bits(const Holding& held) {
        seen_.clear();
        combined_.read(held.origin, held.where.bytes, seen_);
        bool differs = false;
        for_each_pair(seen_, value_, [&](std::int64_t, Stretch seen, Stretch own) {
            differs |= seen.term != undefined && seen.term != own.term;
        });
        if (differs) {
            findings_.add(Flaw::result, to_text(held.where) + " of rank " +
                                            std::to_string(held.rank) +
                                            " is combined by another expression than on ranks "
                                            "before it: rounding may differ");
        }
        combined_.write(held.origin, value_);
    }

    const Promise& promise_;
    Terms& terms_;
    Findings& findings_;
    std::int64_t combined_bytes_ = 0;
    Memory combined_{0};  // by origin: the expressions that ranks have got
    std::vector<Stretch> value_;
    std::vector<Stretch> seen_;
};

}  // namespace

void check_result(const Promise& promise, std::vector<Buffers>& buffers, Terms& terms,
                  Findings& findings) {
    Result result(promise, terms, findings);
    for (const Holding& held : promise.after) {
        result.check(held, buffers[static_cast<std::size_t>(held.rank)].of(held.where.buffer));
        if (findings.full()) return;
    }
}

}  // namespace weft::checking
