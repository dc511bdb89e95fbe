// Weft, of this program or of another build, with one engine and one choice of algorithms.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/player/api.h"
#include "bench/player/player.h"

namespace weft::bench {

class WeftPlayer final : public Player {
  public:
    // `made_from`: a communicator of all ranks of the job, of the same build. Collective.
    WeftPlayer(const Api& api, weft_comm made_from, const Cell& cell, const Job& world);
    ~WeftPlayer() override;

    std::string absence(const Collective&, const Job&) const override { return absence_; }
    bool takes_several() const override { return true; }
    void enter() override;
    void leave() override;
    bool renew() override;
    void start(const Collective& c, Case& k) override;
    bool test() override;
    void wait() override;
    void call(const Collective& c, Case& k) override;
    void barrier() override;
    double unexpected_messages() const override;
    Job job(const Job& world) const override;

  private:
    weft_status set_engine(weft_engine engine) const;
    void force(weft_engine engine) const;

    const Api& api_;
    const Job world_;
    const weft_comm made_from_;
    const std::string algorithm_;
    const CallForm form_;
    weft_engine engine_ = WEFT_ENGINE_MANUAL;
    weft_comm comm_ = WEFT_COMM_NULL;
    std::string absence_;
    std::vector<weft_request> pending_;
    std::map<const Case*, weft_request> persistent_;
};

// Another build by the path of its folder or its libweft.so: a communicator of all ranks, made over
// an allgather of `world`. Null, and a sentence in `why`: it cannot be used. Collective; the same on
// all ranks. Each build is opened once.
struct OtherBuild {
    Api api;
    weft_comm comm;
};
const OtherBuild* other_build(const std::string& path, const Job& world, std::string& why);

// Where this program's libweft.so is, if there is one.
std::string own_library_folder();

// Ends what other_build() has opened. Collective.
void close_other_builds();

}  // namespace weft::bench
