// Whether the buffers hold what the collective promises.
#include <algorithm>
#include <map>

#include "schedule/check/parts.h"
#include "schedule/text.h"

namespace weft::checking {
namespace {

std::string bytes_text(std::int64_t begin, std::int64_t bytes) {
    return "bytes [" + std::to_string(begin) + ".." + std::to_string(begin + bytes) + ")";
}

class Result {
  public:
    Result(const Postcondition& promise, Terms& terms, Findings& findings)
        : promise_(promise), terms_(terms), findings_(findings) {
        std::map<Sources, std::int64_t> bytes;
        for (const Holding& held : promise.after) {
            if (held.sources.is_one()) continue;
            std::int64_t& most = bytes[held.sources];
            most = std::max(most, held.origin + held.where.bytes);
        }
        for (const auto& [sources, most] : bytes) {
            combined_.emplace(sources, most);
            if (promise.reproducible) expressions_.emplace(sources, terms.reproducible(sources));
        }
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
        if (held.sources.is_one()) return;
        if (promise_.reproducible) {
            compare_association(held);
        } else {
            compare_bits(held);
        }
    }

  private:
    bool is_right(const Stretch& stretch, const Holding& held, std::int64_t done) {
        if (stretch.term == undefined || stretch.origin != held.origin + done) return false;
        return terms_.is_combination(stretch.term, held.sources);
    }

    void complain(const Holding& held, std::int64_t done, const Stretch& stretch) {
        const Region where = held.where.part(done, stretch.bytes);
        std::string sentence = to_text(where) + " of rank " + std::to_string(held.rank) + " holds ";
        sentence += terms_.text(stretch.term);
        if (stretch.term != undefined) sentence += ' ' + bytes_text(stretch.origin, stretch.bytes);
        sentence += "; promised: ";
        sentence += text_of(held.sources);
        sentence += ' ' + bytes_text(held.origin + done, stretch.bytes);
        findings_.add(Flaw::result, std::move(sentence));
    }

    std::string text_of(const Sources& sources) const {
        if (sources.is_one()) return "rank " + std::to_string(sources.first) + "'s";
        const auto ranks = static_cast<Rank>(promise_.send_bytes.size());
        std::string text = "the combination of ";
        if (sources == Sources{0, ranks - 1}) {
            text += "all ranks";
        } else {
            text += "ranks " + std::to_string(sources.first) + ".." + std::to_string(sources.last);
        }
        return text + (promise_.commutative ? "" : " in rank order");
    }

    // All ranks must get an element by the expression of the first rank that gets it.
    void compare_bits(const Holding& held) {
        Memory& combined = combined_.at(held.sources);
        seen_.clear();
        combined.read(held.origin, held.where.bytes, seen_);
        bool differs = false;
        for_each_pair(seen_, value_, [&](std::int64_t, Stretch seen, Stretch own) {
            differs |= seen.term != undefined && seen.term != own.term;
        });
        if (differs) {
            findings_.add(Flaw::result, to_text(held.where) + " of rank " +
                                            std::to_string(held.rank) +
                                            " is combined by a different expression than on an "
                                            "earlier rank: rounding may differ");
        }
        combined.write(held.origin, value_);
    }

    // REQUIRES: the right ranks are combined.
    void compare_association(const Holding& held) {
        const Term wanted = expressions_.at(held.sources);
        for (const Stretch& stretch : value_) {
            if (stretch.term == wanted) continue;
            findings_.add(Flaw::result,
                          to_text(held.where) + " of rank " + std::to_string(held.rank) +
                              " is combined as " + terms_.association(stretch.term) +
                              "; promised, to be reproducible: " + terms_.association(wanted));
            return;
        }
    }

    const Postcondition& promise_;
    Terms& terms_;
    Findings& findings_;
    std::map<Sources, Term> expressions_;  // if they are promised
    // By origin: the expressions in which ranks got the combination of these sources.
    std::map<Sources, Memory> combined_;
    std::vector<Stretch> value_;
    std::vector<Stretch> seen_;
};

}  // namespace

void check_result(const Postcondition& promise, std::vector<Buffers>& buffers, Terms& terms,
                  Findings& findings) {
    Result result(promise, terms, findings);
    for (const Holding& held : promise.after) {
        result.check(held, buffers[static_cast<std::size_t>(held.rank)].of(held.where.buffer));
        if (findings.full()) return;
    }
}

}  // namespace weft::checking
