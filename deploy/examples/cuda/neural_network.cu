// SPDX-License-Identifier: Apache-2.0
// A network of two hidden layers learns two spirals apart: forward, backward and steps by kernels of our own,
// the first gradient against differences on the CPU.
// neural_network [STEPS [SECONDS]]: as many steps as that, or as many as fit into the time; it says how many, and a
// hash of the weights.
#include "check.h"

#include <chrono>

const int inputs = 2, hidden = 16, batch = 64, layers = 3;
const int widths[layers + 1] = {inputs, hidden, hidden, 1};

struct Layer {
  float *weights, *bias, *weight_step, *bias_step, *weight_mean, *bias_mean, *out, *error;
};

// out[i][o] = f(sum of in[i][k] weights[k][o] + bias[o]); f is tanh, and the identity at last.
__global__ void forward(const float *in, const float *weights, const float *bias, float *out,
    int from, int to, bool last) {
  for (int i = threadIdx.x; i < batch * to; i += blockDim.x) {
    float sum = bias[i % to];
    for (int k = 0; k < from; k++) sum += in[i / to * from + k] * weights[k * to + i % to];
    out[i] = last ? sum : tanhf(sum);
  }
}

// The logistic loss of each sample, and its derivative.
__global__ void compare(const float *out, const float *wanted, float *error, float *loss) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int i = threadIdx.x;
  float z = out[i], p = 1 / (1 + expf(-z));
  error[i] = (p - wanted[i]) / batch;
  atomicAdd(&sum, fmaxf(z, 0) - z * wanted[i] + log1pf(expf(-fabsf(z))));
  __syncthreads();
  if (threadIdx.x == 0) *loss = sum / batch;
}

__global__ void backward(const float *in, const float *weights, const float *error, float *in_error,
    float *weight_step, float *bias_step, int from, int to) {
  for (int i = threadIdx.x; i < (from + 1) * to; i += blockDim.x) {
    int k = i / to, o = i % to;
    float sum = 0;
    for (int s = 0; s < batch; s++) sum += error[s * to + o] * (k < from ? in[s * from + k] : 1);
    (k < from ? weight_step : bias_step)[k < from ? i : o] = sum;
  }
  if (in_error != nullptr) {
    for (int i = threadIdx.x; i < batch * from; i += blockDim.x) {
      float sum = 0;
      for (int o = 0; o < to; o++) sum += error[i / from * to + o] * weights[i % from * to + o];
      in_error[i] = sum * (1 - in[i] * in[i]);
    }
  }
}

__global__ void step(float *values, const float *gradient, float *mean, int count, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    mean[i] = 0.9f * mean[i] + gradient[i];
    values[i] -= rate * mean[i];
  }
}

static double loss_on_cpu(const std::vector<std::vector<float>> &weights,
    const std::vector<float> &points, const std::vector<float> &wanted) {
  double loss = 0;
  for (int s = 0; s < batch; s++) {
    std::vector<double> values(points.begin() + s * inputs, points.begin() + (s + 1) * inputs);
    for (int l = 0; l < layers; l++) {
      std::vector<double> next(widths[l + 1]);
      for (int o = 0; o < widths[l + 1]; o++) {
        for (int k = 0; k < widths[l]; k++) next[o] += values[k] * weights[l][k * widths[l + 1] + o];
        if (l + 1 < layers) next[o] = std::tanh(next[o]);
      }
      values = next;
    }
    loss += std::fmax(values[0], 0) - values[0] * wanted[s] + std::log1p(std::exp(-std::fabs(values[0])));
  }
  return loss / batch;
}

// FNV-1a of the bits of all weights and biases.
static uint64_t hash_of(const Layer *net) {
  uint64_t hash = 14695981039346656037ULL;
  auto add = [&](const float *values, int count) {
    for (float value : host_copy(values, count)) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 1099511628211ULL;
    }
  };
  for (int l = 0; l < layers; l++) {
    add(net[l].weights, widths[l] * widths[l + 1]);
    add(net[l].bias, widths[l + 1]);
  }
  return hash;
}

int main(int argc, char **argv) {
  Numbers numbers(42);
  std::vector<float> points(batch * inputs), wanted(batch);
  for (int i = 0; i < batch; i++) {
    float turn = 0.4f + 2.6f * float(i / 2) / (batch / 2), angle = 1.5f * turn + float(M_PI) * (i % 2);
    points[2 * i] = turn * std::cos(angle);
    points[2 * i + 1] = turn * std::sin(angle);
    wanted[i] = float(i % 2);
  }
  float *d_points = device_copy(points), *d_wanted = device_copy(wanted), *d_loss;
  CHECK(cudaMalloc(&d_loss, sizeof(float)));
  Layer net[layers];
  std::vector<std::vector<float>> weights;
  for (int l = 0; l < layers; l++) {
    std::vector<float> start(widths[l] * widths[l + 1]);
    for (float &value : start) value = (numbers.unit() - 0.5f) * 3 / std::sqrt(float(widths[l]));
    std::vector<float> zeros(start.size()), bias(widths[l + 1]), samples(batch * widths[l + 1]);
    net[l] = {device_copy(start), device_copy(bias), device_copy(zeros), device_copy(bias),
        device_copy(zeros), device_copy(bias), device_copy(samples), device_copy(samples)};
    weights.push_back(start);
  }
  auto turn = [&](float rate) {
    for (int l = 0; l < layers; l++) {
      forward<<<1, 128>>>(l == 0 ? d_points : net[l - 1].out, net[l].weights, net[l].bias,
          net[l].out, widths[l], widths[l + 1], l + 1 == layers);
    }
    compare<<<1, batch>>>(net[layers - 1].out, d_wanted, net[layers - 1].error, d_loss);
    for (int l = layers - 1; l >= 0; l--) {
      backward<<<1, 128>>>(l == 0 ? d_points : net[l - 1].out, net[l].weights, net[l].error,
          l == 0 ? nullptr : net[l - 1].error, net[l].weight_step, net[l].bias_step, widths[l],
          widths[l + 1]);
    }
    for (const Layer &layer : net) {
      int l = int(&layer - net), count = widths[l] * widths[l + 1];
      step<<<(count + 63) / 64, 64>>>(layer.weights, layer.weight_step, layer.weight_mean, count, rate);
      step<<<1, 64>>>(layer.bias, layer.bias_step, layer.bias_mean, widths[l + 1], rate);
    }
    launched();
  };

  turn(0);
  double first = loss_on_cpu(weights, points, wanted);
  REQUIRE(std::fabs(host_copy(d_loss, 1)[0] - first) < 1e-4, "the first loss is %g, not %g",
      host_copy(d_loss, 1)[0], first);
  for (int l = 0; l < layers; l++) {
    std::vector<float> gradient = host_copy(net[l].weight_step, weights[l].size());
    for (size_t i = 0; i < gradient.size(); i += 7) {
      auto moved = [&](float by) {
        auto changed = weights;
        changed[l][i] += by;
        return loss_on_cpu(changed, points, wanted);
      };
      double slope = (moved(1e-3f) - moved(-1e-3f)) / 2e-3;
      REQUIRE(std::fabs(gradient[i] - slope) < 1e-4 + 0.01 * std::fabs(slope),
          "derivative %zu of layer %d is %g, not %g", i, l, gradient[i], slope);
    }
  }
  const int least = 300, turns = argc > 1 ? std::atoi(argv[1]) : least;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 3600);
  int done = 0;
  float loss = 0;
  while (done < turns && (done < least || std::chrono::steady_clock::now() < end)) {
    turn(0.15f);
    if (++done % 10 == 0) loss = host_copy(d_loss, 1)[0];
  }
  loss = host_copy(d_loss, 1)[0];
  REQUIRE(loss < 0.15f, "the loss is still %g, from %g", loss, first);
  std::vector<float> answers = host_copy(net[layers - 1].out, batch);
  int right = 0;
  for (int i = 0; i < batch; i++) right += (answers[i] > 0) == (wanted[i] > 0.5f);
  REQUIRE(right >= batch * 19 / 20, "only %d of %d are right", right, batch);
  uint64_t hash = hash_of(net);
  CHECK(cudaDeviceReset());
  return ok("%d steps, weights %016lx, loss from %.3f to %.4f, %d of %d right", done, hash, first, loss, right, batch);
}
