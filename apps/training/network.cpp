#include "apps/training/network.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace apps::training {
namespace {

// Rows of weights that are handled at a time: they stay in the cache for all examples.
constexpr std::size_t block_rows = 32;

std::size_t blocks_of(std::size_t rows) { return (rows + block_rows - 1) / block_rows; }

// y += a[0] x[0] + ... + a[3] x[3], for rows x of n numbers that are n apart.
void add_four(float* __restrict y, const float* a, std::size_t stride, const float* x,
              std::size_t n) {
    const float a0 = a[0], a1 = a[stride], a2 = a[2 * stride], a3 = a[3 * stride];
    const float *x0 = x, *x1 = x + n, *x2 = x + 2 * n, *x3 = x + 3 * n;
    for (std::size_t i = 0; i < n; ++i) y[i] += a0 * x0[i] + a1 * x1[i] + a2 * x2[i] + a3 * x3[i];
}

// y += the sum of a[k] x[k] for k < count; the factors a are `stride` apart.
void add_rows(float* __restrict y, const float* a, std::size_t stride, const float* x,
              std::size_t n, std::size_t count) {
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4) add_four(y, a + k * stride, stride, x + k * n, n);
    for (; k < count; ++k) {
        const float factor = a[k * stride];
        for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[k * n + i];
    }
}

float dot(const float* x, const float* y, std::size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

}  // namespace

Network::Network(std::vector<std::size_t> widths, std::uint64_t seed) {
    for (std::size_t l = 0; l + 1 < widths.size(); ++l)
        layers_.push_back({widths[l], widths[l + 1], 0, 0, {}, {}});
    std::size_t count = 0;
    for (std::size_t l = layers_.size(); l-- > 0;) {
        layers_[l].begin = count;
        count += (layers_[l].inputs + 1) * layers_[l].outputs;
        layers_[l].end = count;
    }
    weights_.resize(count);
    gradients_.resize(count);
    Random random(seed);
    for (const Layer& layer : layers_) {
        const double scale = std::sqrt(3.0 / static_cast<double>(layer.inputs));
        for (std::size_t i = 0; i < layer.inputs * layer.outputs; ++i)
            weights_[layer.begin + i] = static_cast<float>((2 * random.uniform() - 1) * scale);
    }
}

std::vector<Network::Range> Network::layers() const {
    std::vector<Range> ranges;
    for (const Layer& layer : layers_) ranges.push_back({layer.begin, layer.end});
    return ranges;
}

std::size_t Network::pauses() const {
    std::size_t blocks = 0;
    for (const Layer& layer : layers_) blocks += blocks_of(layer.inputs);
    return 3 * blocks - blocks_of(layers_.front().inputs);
}

double Network::forward(const Batch& batch, const Hooks& hooks) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        Layer& layer = layers_[l];
        const std::size_t n = layer.outputs;
        const float* const in = inputs_of(batch, l);
        const float* const weights = &weights_[layer.begin];
        layer.values.assign(batch.rows * n, 0.0F);
        for (std::size_t i = 0; i < layer.inputs; i += block_rows) {
            const std::size_t rows = std::min(block_rows, layer.inputs - i);
            hooks.needed(layer.begin + i * n, layer.begin + (i + rows) * n);
            for (std::size_t b = 0; b < batch.rows; ++b)
                add_rows(&layer.values[b * n], in + b * layer.inputs + i, 1, weights + i * n, n,
                         rows);
            hooks.pause();
        }
        const float* const biases = weights + layer.inputs * n;
        hooks.needed(layer.begin + layer.inputs * n, layer.end);
        for (std::size_t b = 0; b < batch.rows; ++b)
            for (std::size_t c = 0; c < n; ++c) layer.values[b * n + c] += biases[c];
        if (l + 1 < layers_.size())
            for (float& value : layer.values) value = std::tanh(value);
    }
    return loss_of(batch);
}

// Softmax and cross entropy, and the errors of the last layer.
double Network::loss_of(const Batch& batch) {
    Layer& last = layers_.back();
    last.errors.resize(last.values.size());
    double loss = 0;
    for (std::size_t b = 0; b < batch.rows; ++b) {
        const std::span<const float> row(&last.values[b * last.outputs], last.outputs);
        const float most = *std::ranges::max_element(row);
        double sum = 0;
        for (const float value : row) sum += std::exp(static_cast<double>(value - most));
        const auto right = static_cast<std::size_t>(batch.classes[b]);
        loss += std::log(sum) - static_cast<double>(row[right] - most);
        for (std::size_t c = 0; c < row.size(); ++c) {
            const double share = std::exp(static_cast<double>(row[c] - most)) / sum;
            last.errors[b * last.outputs + c] = static_cast<float>(share - (c == right ? 1 : 0));
        }
    }
    return loss;
}

void Network::backward(const Batch& batch, const Hooks& hooks) {
    std::ranges::fill(gradients_, 0.0F);
    for (std::size_t l = layers_.size(); l-- > 0;) {
        Layer& layer = layers_[l];
        const std::size_t n = layer.outputs;
        const float* const in = inputs_of(batch, l);
        float* const gradients = &gradients_[layer.begin];
        for (std::size_t i = 0; i < layer.inputs; i += block_rows) {
            const std::size_t end = std::min(i + block_rows, layer.inputs);
            for (std::size_t row = i; row < end; ++row)
                add_rows(gradients + row * n, in + row, layer.inputs, layer.errors.data(), n,
                         batch.rows);
            hooks.finished(layer.begin + end * n);
            hooks.pause();
        }
        float* const biases = gradients + layer.inputs * n;
        for (std::size_t b = 0; b < batch.rows; ++b)
            for (std::size_t c = 0; c < n; ++c) biases[c] += layer.errors[b * n + c];
        hooks.finished(layer.end);
        if (l == 0) break;
        // The errors of the layer before.
        const float* const weights = &weights_[layer.begin];
        std::vector<float>& before = layers_[l - 1].errors;
        before.resize(batch.rows * layer.inputs);
        for (std::size_t i = 0; i < layer.inputs; i += block_rows) {
            const std::size_t end = std::min(i + block_rows, layer.inputs);
            for (std::size_t b = 0; b < batch.rows; ++b) {
                for (std::size_t row = i; row < end; ++row) {
                    const float value = in[b * layer.inputs + row];
                    before[b * layer.inputs + row] =
                        (1 - value * value) * dot(&layer.errors[b * n], weights + row * n, n);
                }
            }
            hooks.pause();
        }
    }
}

}  // namespace apps::training
