// A small network of fully connected layers for one thread: tanh, and softmax at the end. Weights
// and gradients are each one array, in the order in which the backward pass finishes its gradients:
// the last layer first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "apps/common/app.h"

namespace apps::training {

// Examples: row i has as many numbers as the network has inputs, and the class that they belong to.
struct Batch {
    std::size_t rows = 0;
    std::vector<float> inputs;
    std::vector<int> classes;
};

// What the passes of a network call.
struct Hooks {
    // These weights are about to be read, for the first time in the forward pass: some of a layer,
    // in the order in which the backward pass finishes their gradients.
    std::function<void(std::size_t begin, std::size_t end)> needed = [](auto, auto) {};
    // So many gradients, from the first one on, will not change any more in the backward pass.
    std::function<void(std::size_t count)> finished = [](auto) {};
    // Now and then in both.
    std::function<void()> pause = [] {};
};

class Network {
  public:
    // Where weights are in their array.
    struct Range {
        std::size_t begin, end;
    };

    // `widths`: of the inputs, and of each layer.
    Network(std::vector<std::size_t> widths, std::uint64_t seed);

    // Each layer's weights, the first layer's first.
    std::vector<Range> layers() const;

    std::vector<float>& weights() { return weights_; }
    std::vector<float>& gradients() { return gradients_; }

    // Returns the sum of the rows' losses.
    double forward(const Batch& batch, const Hooks& hooks);
    // The gradients of that sum.
    void backward(const Batch& batch, const Hooks& hooks);

    // How often both call pause().
    std::size_t pauses() const;

  private:
    struct Layer {
        std::size_t inputs, outputs;
        std::size_t begin, end;  // of its weights: a row for each input, and one of biases
        std::vector<float> values, errors;
    };
    const float* inputs_of(const Batch& batch, std::size_t layer) const {
        return layer == 0 ? batch.inputs.data() : layers_[layer - 1].values.data();
    }
    double loss_of(const Batch& batch);

    std::vector<Layer> layers_;
    std::vector<float> weights_, gradients_;
};

}  // namespace apps::training
