// SPDX-License-Identifier: Apache-2.0
// Kernels of data_parallel.c: a layer of weights is a matrix with a row for each input, and one more for the biases.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// Of each sample and output, the weighted sum of the inputs; relu: or 0 if that is more.
extern "C" __global__ void layer(float *out, const float *in, const float *weights, int samples, int inputs, int outputs,
                                 int relu) {
  int index = INDEX;
  if (index >= samples * outputs) return;
  int sample = index / outputs, output = index % outputs;
  float sum = weights[inputs * outputs + output];
  for (int i = 0; i < inputs; i++) sum += in[sample * inputs + i] * weights[i * outputs + output];
  out[index] = relu && sum < 0 ? 0 : sum;
}

extern "C" __global__ void difference(float *error, const float *out, const float *target, float scale, int count) {
  int index = INDEX;
  if (index < count) error[index] = (out[index] - target[index]) * scale;
}

// The errors of a layer's inputs, which are outputs of the one before, from those of its outputs.
extern "C" __global__ void back(float *error_in, const float *in, const float *error_out, const float *weights,
                                int samples, int inputs, int outputs) {
  int index = INDEX;
  if (index >= samples * inputs) return;
  int sample = index / inputs, input = index % inputs;
  float sum = 0;
  for (int i = 0; i < outputs; i++) sum += error_out[sample * outputs + i] * weights[input * outputs + i];
  error_in[index] = in[index] > 0 ? sum : 0;
}

// Of each weight, the sum over all samples, in their order.
extern "C" __global__ void gradient(float *gradients, const float *in, const float *error_out, int samples, int inputs,
                                    int outputs) {
  int index = INDEX;
  if (index >= (inputs + 1) * outputs) return;
  int input = index / outputs, output = index % outputs;
  float sum = 0;
  for (int i = 0; i < samples; i++) {
    sum += (input < inputs ? in[i * inputs + input] : 1) * error_out[i * outputs + output];
  }
  gradients[index] = sum;
}

extern "C" __global__ void update(float *weights, const float *gradients, float rate, int count) {
  int index = INDEX;
  if (index < count) weights[index] -= rate * gradients[index];
}
