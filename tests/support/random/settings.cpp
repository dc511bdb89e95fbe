#include "support/random/settings.h"

#include "algorithm/catalogue.h"
#include "offload/offload.h"

namespace weft::test::random {

Settings Settings::of(const Case& c) {
    Settings settings;
    Prng random(c.seed * 31 + 7);
    std::optional<Torus> network;
    // (A torus is declared for a job, of which there are several.)
    if (!random.one_in(4) && !c.has_groups()) {
        const std::vector<Sizes> all = tori(c.ranks);
        settings.torus = all[random.below(all.size())];
        network.emplace(settings.torus);
    }
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        // Consecutive seeds force one algorithm after the other, and then none.
        const std::size_t n = spec.algorithms.size();
        const std::size_t at = c.seed % (n + 1);
        if (at == n) continue;
        const algorithm::Algorithm& known = *spec.algorithms[at];
        std::string text = known.name;
        algorithm::GlobalArgs size;
        size.ranks = c.ranks;
        size.torus = network ? &*network : nullptr;
        if (known.tunes == algorithm::Tunes::segments) {
            static constexpr int segments[] = {512, 4096, 50'000};
            text += ":segment=" + std::to_string(segments[random.below(std::size(segments))]) +
                    ",window=" + std::to_string(1 + random.below(4));
        }
        if (known.tunes == algorithm::Tunes::ports) {
            // More often with 1 port: then algorithms that need a power of ports + 1 ranks can be
            // used.
            size.tuning.ports =
                static_cast<std::uint32_t>(random.one_in(2) ? 1 : 2 + random.below(2));
            text += ":ports=" + std::to_string(size.tuning.ports);
        }
        if (known.tunes == algorithm::Tunes::throttle && random.one_in(2)) text += ":throttle=1";
        char before = ':';
        if (known.follows_inner() && random.one_in(2)) {
            const std::vector<const algorithm::Algorithm*> flat = spec.flat_algorithms();
            size.tuning.inner = flat[random.below(flat.size())];
            text += std::string(":inner=") + size.tuning.inner->name;
            before = ',';
        }
        if (known.follows_leaders() && random.one_in(2))
            text += before + ("leaders=" + std::to_string(1 + random.below(3)));
        // Smaller communicators and other operations may not meet needs that this call meets.
        if (known.unmet_need(size).empty()) settings.forced.emplace_back(spec.collective, text);
    }
    if (random.one_in(2)) settings.engine = EngineKind::manual;
    if (random.one_in(3)) settings.ring_bytes = 16 * 1024;
    settings.large = static_cast<shm::LargeMethod>(random.below(2));
    // Sometimes no message is eager, or every one that can be.
    if (random.one_in(3)) settings.eager_threshold = random.one_in(2) ? 0 : 1 << 30;
    settings.checks_calls = random.one_in(4);
    if (random.one_in(3)) settings.connections = static_cast<std::uint32_t>(2 + random.below(2));
    if (random.one_in(3)) settings.links = 2 + random.below(2);
    const bool suits_kernel = c.transport.find("tcp") != std::string::npos ||
                              c.transport.find("mixed") != std::string::npos;
    if (random.one_in(2) && suits_kernel && kernel_engine_absence().empty())
        settings.engine = EngineKind::kernel;
    settings.dedicates = settings.engine == EngineKind::kernel || random.one_in(3);
    settings.offers_all = random.one_in(2);
    if (random.one_in(3)) settings.queue_depth = 8;
    if (settings.engine == EngineKind::thread && random.one_in(2))
        settings.engine = EngineKind::automatic;
    settings.sets_core_aside = random.one_in(3);
    settings.dedicated_rendezvous = settings.dedicates && random.one_in(2);
    if (settings.dedicated_rendezvous && random.one_in(2)) settings.eager_threshold = 1000;
    return settings;
}

Selector Settings::selector() const {
    Selector selector;
    for (const auto& [collective, text] : forced) {
        const Status status = selector.force(collective, text);
        WEFT_ASSERT(status.is_ok());
    }
    return selector;
}

mpi::Settings Settings::of_mpi() const {
    mpi::Settings result;
    result.eager_threshold = eager_threshold.value_or(result.eager_threshold);
    return result;
}

shm::Settings Settings::of_shm(int ranks) const {
    shm::Settings result = shm::Settings::defaults(static_cast<std::size_t>(ranks));
    result.ring_bytes = ring_bytes.value_or(result.ring_bytes);
    result.eager_threshold = eager_threshold.value_or(result.eager_threshold);
    result.large = large;
    return result;
}

// Each counts as a link.
std::string Settings::interfaces() const {
    std::string text = "127.0.0.1";
    for (std::uint64_t i = 2; i <= links; ++i) text += ",127.0.0." + std::to_string(i);
    return text;
}

#if WEFT_HAS_TCP
tcp::Settings Settings::of_tcp() const {
    tcp::Settings result{
        .interfaces = interfaces(), .connections = connections, .cut_bytes_min = 1024};
    result.eager_threshold = eager_threshold.value_or(result.eager_threshold);
    result.dedicated_rendezvous = dedicated_rendezvous;
    return result;
}
#endif

#if WEFT_HAS_UCX
ucx::Settings Settings::of_ucx(ucx::Settings result) const {
    if (eager_threshold)
        result.eager_threshold = std::min(*eager_threshold, ucx::Settings::eager_bytes_max);
    return result;
}
#endif

std::string Settings::environment() const {
    std::string text = std::string("WEFT_ENGINE=") + traits(engine).name;
    if (!forced.empty()) text += " WEFT_ALGORITHM=" + selector().text();
    if (!torus.empty()) text += " WEFT_TOPOLOGY=torus:" + to_text(torus);
    std::string resources;
    if (ring_bytes) resources += ",shm_ring=" + std::to_string(*ring_bytes);
    if (connections > 1) resources += ",connections=" + std::to_string(connections);
    if (queue_depth) resources += ",queue_depth=" + std::to_string(*queue_depth);
    if (dedicated_rendezvous) resources += ",dedicated_rendezvous=1";
    if (large == shm::LargeMethod::vm_readv) resources += ",shm_large=vm_readv";
    if (!resources.empty()) text += " WEFT_RESOURCES=" + resources.substr(1);
    if (offers_all) text += " WEFT_HOOK_OFFER_ALL=1";
    if (checks_calls) text += " WEFT_CHECK=1";
    if (dedicates) text += " WEFT_HOOK_DEDICATE=1";
    if (eager_threshold) text += " WEFT_RENDEZVOUS=" + std::to_string(*eager_threshold);
    return text;
}

}  // namespace weft::test::random
