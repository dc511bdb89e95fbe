// Exchanges the outermost points with the neighbors: started, and finished after a computation that
// does not need them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "apps/cg/domain.h"
#include "apps/common/exchange.h"

namespace apps::cg {

class Halo {
  public:
    // `by_alltoallv`: as programs did before there were neighbor collectives: a block for each rank,
    // most of them empty.
    Halo(const Domain& domain, Exchange& world, bool by_alltoallv)
        : domain_(domain), exchange_(world), by_alltoallv_(by_alltoallv) {
        const Point& r = domain.ranks();
        const std::array<int, 3> dims = {r[2], r[1], r[0]}, periods = {};
        if (!by_alltoallv) exchange_ = world.grid(dims, periods);
        counts_.resize(by_alltoallv ? static_cast<std::size_t>(world.ranks()) : 6);
        displacements_.resize(counts_.size());
        std::size_t points = 0;
        for (std::size_t s = 0; s < 6; ++s) {
            const Side& side = domain.sides()[s];
            begin_[s] = points;
            if (side.neighbor < 0) continue;
            const std::size_t block = by_alltoallv ? static_cast<std::size_t>(side.neighbor) : s;
            counts_[block] = side.own.points();
            displacements_[block] = static_cast<std::ptrdiff_t>(points);
            points += counts_[block];
        }
        send_.resize(points);
        recv_.resize(points);
    }

    void start(const Vector& v) {
        copy(false, [&](std::size_t at, double* packed, std::size_t n) {
            std::copy_n(&v[at], n, packed);
        });
        const Blocks<const double> send = {send_.data(), counts_, displacements_};
        const Blocks<double> recv = {recv_.data(), counts_, displacements_};
        request_ = by_alltoallv_ ? exchange_.ialltoallv(send, recv)
                                 : exchange_.ineighbor_alltoallv(send, recv);
    }
    void test() { request_.test(); }
    void finish(Vector& v) {
        request_.wait();
        copy(true, [&](std::size_t at, const double* packed, std::size_t n) {
            std::copy_n(packed, n, &v[at]);
        });
    }

  private:
    // Calls f(index, where it is packed, points) for each row of what is sent, or received.
    template <class F>
    void copy(bool received, F f) {
        for (std::size_t s = 0; s < 6; ++s) {
            const Side& side = domain_.sides()[s];
            if (side.neighbor < 0) continue;
            double* packed = (received ? recv_ : send_).data() + begin_[s];
            domain_.each_row(received ? side.ghost : side.own, [&](std::size_t at, std::size_t n) {
                f(at, packed, n);
                packed += n;
            });
        }
    }

    const Domain& domain_;
    Exchange exchange_;
    bool by_alltoallv_;
    std::vector<double> send_, recv_;
    std::array<std::size_t, 6> begin_{};  // of each side's points
    std::vector<std::size_t> counts_;     // of each block
    std::vector<std::ptrdiff_t> displacements_;
    Request request_;
};

}  // namespace apps::cg
