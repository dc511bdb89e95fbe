// Which algorithm a call uses. This depends only on what all ranks know: settings, otherwise a
// table by the number of ranks, nodes and bytes, the engine, and whether operands are combined on
// arrival. A measured table goes before the model, if that is asked for, and the model before the
// shipped table.
//
// Thread safety: immutable, share freely.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "select/by_model.h"
#include "select/table.h"

namespace weft {

// Prints, on standard error, what the environment has that is no setting, or was renamed.
void warn_of_settings();

class Selector {
  public:
    // Forces nothing, and follows the shipped table.
    Selector() = default;

    // Reads WEFT_ALGORITHM, such as bcast=chain:segment=64K,window=8,allgather=bruck:ports=3.
    // Refuses unknown names and forms with a sentence that lists the known ones, and tuning that
    // the algorithm does not follow. WEFT_TUNING: a file with a table, whose lines take precedence
    // over the shipped ones. WEFT_SELECT=model or model:cpu, and WEFT_MODEL: a file with measured
    // parameters of the model. (One variable for each collective, WEFT_ALGORITHM_BCAST=chain, works
    // for one more release.)
    static Result<Selector> from_environment();

    // From now on the calls of the collectives in the list use what it says, as above. `name`: the
    // list's, for sentences.
    Status force(std::string_view list, const std::string& name);
    Status force(Collective collective, const std::string& text);

    // The engine that selects the table's lines for an engine: the one with which all ranks joined
    // the job; none: they differ. It is not the engine in use, which each rank may change for
    // itself.
    void set_engine(std::optional<EngineKind> engine) { engine_ = engine; }

    // Refuses a call that does not meet the forced algorithm's needs.
    Result<Choice> choose(const algorithm::GlobalArgs& agreed) const;

    // All forced algorithms, as WEFT_ALGORITHM takes them, to compare with other ranks'.
    std::string text() const;
    // The same for the file that WEFT_TUNING names: a hash of its content; empty: none is named.
    const std::string& tuning() const { return tuning_; }
    // ... and for WEFT_MODEL, if it is used.
    const std::string& model() const { return model_digest_; }

  private:
    struct Forced {
        Choice choice;
        std::string name;  // of the setting, for sentences
        std::string text;
    };
    void put(const NamedChoice& forced, const std::string& name);
    Status read_table(const std::string& path);
    Status read_selection();

    std::shared_ptr<const AlgorithmTable> table_;  // of WEFT_TUNING
    std::string tuning_;
    std::shared_ptr<const ModelSelection> model_;
    std::string model_digest_;
    std::optional<EngineKind> engine_;
    std::array<std::optional<Forced>, collectives> forced_;
};

}  // namespace weft
