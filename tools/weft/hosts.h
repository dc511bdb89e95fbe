// `weft run --hosts a,b:4`: one client of ssh for each host, which starts `weft run-share` there; that
// starts the host's ranks. What it must know, the job's key among it, it reads from its standard
// input, not from arguments, which others see. When that input ends, because the launcher or the
// connection has, it ends its ranks.
#pragma once

#include <string>

#include "weft/run_options.h"

namespace weft {

// Why the list is none; empty: it is one.
std::string hosts_problem(const std::string& hosts);

// Runs options.ranks ranks, as many as the hosts have places if that is 0. `ssh`: the client. Returns
// as run_job() does.
int run_on_hosts(const RunOptions& options, const std::string& hosts, const std::string& ssh);

// As `weft run-share`.
int run_share();

// As `weft run-share --addresses`: prints by which addresses other machines may reach this one.
int say_addresses();

}  // namespace weft
