// SPDX-License-Identifier: Apache-2.0
// Training of a small network by several ranks: each has a share of the batch, and the gradients of all are added up.
// Usage: data_parallel [--ranks N] [--rank R --id-file FILE [--device D]] [--nccl LIBRARY] [--kernels FILE]
//                      [--save FILE] [--expect FILE [--tolerance T]]
// Ranks are chosen as in conformance.c. With --ranks 1, one rank trains on the whole batch. --save writes the weights
// down, and --expect compares them with others, because with other ranks the gradients are added up in another order.
#include <math.h>

#include "ranks.h"

enum { INPUTS = 16, HIDDEN = 32, OUTPUTS = 4, BATCH = 64, STEPS = 50, THREADS = 64 };
enum { FIRST = (INPUTS + 1) * HIDDEN, SECOND = (HIDDEN + 1) * OUTPUTS, WEIGHTS = FIRST + SECOND };

static const float rate = 0.1f;

struct model {
  CUfunction layer, difference, back, gradient, update;
  CUdeviceptr weights, gradients;
  CUdeviceptr in, target, hidden, out, error, hidden_error;
  int samples;
};

static struct ranks ranks;
static struct model models[MAX_RANKS];
static float inputs[BATCH * INPUTS], targets[BATCH * OUTPUTS], weights[WEIGHTS];

/** A number from -1 to 1, always the same ones. */
static float next_number(void) {
  static uint64_t state = 42;
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (float)(int32_t)(state >> 32) / 2147483648.0f;
}

/** Each output is to be a product and a sum of four inputs. */
static void make_data(void) {
  for (int i = 0; i < BATCH * INPUTS; i++) {
    inputs[i] = next_number();
  }
  for (int i = 0; i < BATCH * OUTPUTS; i++) {
    const float *own = inputs + i / OUTPUTS * INPUTS + i % OUTPUTS * (INPUTS / OUTPUTS);
    targets[i] = own[0] * own[1] + (own[2] - own[3]) / 2;
  }
  for (int i = 0; i < WEIGHTS; i++) {
    weights[i] = next_number() / 4;
  }
}

static CUdeviceptr allocate(int floats) {
  CUdeviceptr memory;
  CHECK(cuMemAlloc(&memory, sizeof(float) * (size_t)floats));
  return memory;
}

static void model_prepare(struct model *model, const struct rank *rank, const char *kernels) {
  CUmodule module;
  rank_enter(rank);
  CHECK(cuModuleLoadData(&module, kernels));
  CHECK(cuModuleGetFunction(&model->layer, module, "layer"));
  CHECK(cuModuleGetFunction(&model->difference, module, "difference"));
  CHECK(cuModuleGetFunction(&model->back, module, "back"));
  CHECK(cuModuleGetFunction(&model->gradient, module, "gradient"));
  CHECK(cuModuleGetFunction(&model->update, module, "update"));
  model->samples = BATCH / ranks.count;
  model->weights = allocate(WEIGHTS);
  model->gradients = allocate(WEIGHTS);
  model->in = allocate(BATCH * INPUTS);
  model->target = allocate(BATCH * OUTPUTS);
  model->hidden = allocate(BATCH * HIDDEN);
  model->hidden_error = allocate(BATCH * HIDDEN);
  model->out = allocate(BATCH * OUTPUTS);
  model->error = allocate(BATCH * OUTPUTS);
  int first = rank->rank * model->samples;
  CHECK(cuMemcpyHtoD(model->in, inputs + first * INPUTS, sizeof(float) * (size_t)(model->samples * INPUTS)));
  CHECK(cuMemcpyHtoD(model->target, targets + first * OUTPUTS, sizeof(float) * (size_t)(model->samples * OUTPUTS)));
  // Rank 0 tells the others where to begin.
  if (rank->rank == 0) {
    CHECK(cuMemcpyHtoD(model->weights, weights, sizeof weights));
  }
  CHECK(cuCtxSynchronize());
}

static void launch(CUfunction function, int count, CUstream stream, void **parameters) {
  unsigned blocks = (unsigned)((count + THREADS - 1) / THREADS);
  CHECK(cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL));
}

/** Computes the gradients of a rank's share, weighted by its part of the batch. */
static void compute(struct model *model, CUstream stream) {
  int samples = model->samples, in = INPUTS, middle = HIDDEN, out = OUTPUTS, yes = 1, no = 0;
  int count = samples * OUTPUTS;
  float scale = 1.0f / BATCH;
  CUdeviceptr second = model->weights + sizeof(float) * FIRST, second_gradients = model->gradients + sizeof(float) * FIRST;
  launch(model->layer, samples * HIDDEN, stream,
         (void *[]){&model->hidden, &model->in, &model->weights, &samples, &in, &middle, &yes});
  launch(model->layer, count, stream, (void *[]){&model->out, &model->hidden, &second, &samples, &middle, &out, &no});
  launch(model->difference, count, stream, (void *[]){&model->error, &model->out, &model->target, &scale, &count});
  launch(model->back, samples * HIDDEN, stream,
         (void *[]){&model->hidden_error, &model->hidden, &model->error, &second, &samples, &middle, &out});
  launch(model->gradient, FIRST, stream,
         (void *[]){&model->gradients, &model->in, &model->hidden_error, &samples, &in, &middle});
  launch(model->gradient, SECOND, stream,
         (void *[]){&second_gradients, &model->hidden, &model->error, &samples, &middle, &out});
}

static void step(void) {
  int count = WEIGHTS;
  float own_rate = rate;
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    compute(&models[i], ranks.own_ranks[i].stream);
  }
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    const struct rank *rank = &ranks.own_ranks[i];
    NCCL_CHECK(ncclAllReduce(models[i].gradients, models[i].gradients, WEIGHTS, NCCL_FLOAT32, NCCL_SUM, rank->comm,
                             rank->stream));
  }
  NCCL_CHECK(ncclGroupEnd());
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    launch(models[i].update, WEIGHTS, ranks.own_ranks[i].stream,
           (void *[]){&models[i].weights, &models[i].gradients, &own_rate, &count});
  }
}

static void share_weights(void) {
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    const struct rank *rank = &ranks.own_ranks[i];
    NCCL_CHECK(ncclBroadcast(models[i].weights, models[i].weights, WEIGHTS, NCCL_FLOAT32, 0, rank->comm, rank->stream));
  }
  NCCL_CHECK(ncclGroupEnd());
}

/** The loss of the whole batch, computed here. */
static double loss(void) {
  double sum = 0;
  for (int sample = 0; sample < BATCH; sample++) {
    double hidden[HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
      hidden[i] = weights[INPUTS * HIDDEN + i];
      for (int j = 0; j < INPUTS; j++) {
        hidden[i] += inputs[sample * INPUTS + j] * weights[j * HIDDEN + i];
      }
      hidden[i] = hidden[i] < 0 ? 0 : hidden[i];
    }
    for (int i = 0; i < OUTPUTS; i++) {
      double out = weights[FIRST + HIDDEN * OUTPUTS + i];
      for (int j = 0; j < HIDDEN; j++) {
        out += hidden[j] * weights[FIRST + j * OUTPUTS + i];
      }
      sum += (out - targets[sample * OUTPUTS + i]) * (out - targets[sample * OUTPUTS + i]);
    }
  }
  return sum / (BATCH * OUTPUTS);
}

/** Takes the weights of the first rank here; those of the others are the same to the bit. */
static void fetch_weights(void) {
  float others[WEIGHTS];
  ranks_wait(&ranks);
  rank_enter(&ranks.own_ranks[0]);
  CHECK(cuMemcpyDtoH(weights, models[0].weights, sizeof weights));
  for (int i = 1; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuMemcpyDtoH(others, models[i].weights, sizeof others));
    if (memcmp(others, weights, sizeof others) != 0) {
      fail("ranks 0 and %d have other weights", i);
    }
  }
}

static uint64_t checksum(void) {
  uint64_t sum = 14695981039346656037ull;
  for (size_t i = 0; i < sizeof weights; i++) {
    sum = (sum ^ ((const uint8_t *)weights)[i]) * 1099511628211ull;
  }
  return sum;
}

static void compare(const char *path, double tolerance) {
  float expected[WEIGHTS];
  double most = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL || fread(expected, sizeof(float), WEIGHTS, file) != WEIGHTS) {
    fail("cannot read %d weights of %s", WEIGHTS, path);
  }
  fclose(file);
  for (int i = 0; i < WEIGHTS; i++) {
    double distance = fabs((double)weights[i] - expected[i]);
    if (!(distance <= tolerance)) {
      fail("weight %d is %.9g, not %.9g", i, weights[i], expected[i]);
    }
    most = distance > most ? distance : most;
  }
  printf("data_parallel: the weights are within %.3g\n", most);
}

int main(int argc, char **argv) {
  struct rank_options options = {.rank = -1, .nccl = "libnccl.so.2"};
  const char *kernels = "kernels.ptx", *save = NULL, *expect = NULL;
  double tolerance = 1e-5;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) {
      fail("%s has no value", argv[i]);
    } else if (strcmp(argv[i], "--kernels") == 0) {
      kernels = argv[i + 1];
    } else if (strcmp(argv[i], "--save") == 0) {
      save = argv[i + 1];
    } else if (strcmp(argv[i], "--expect") == 0) {
      expect = argv[i + 1];
    } else if (strcmp(argv[i], "--tolerance") == 0) {
      tolerance = atof(argv[i + 1]);
    } else if (!rank_option(&options, argv[i], argv[i + 1])) {
      fail("there is no option %s", argv[i]);
    }
  }
  make_data();
  double before = loss();
  ranks_start(&ranks, &options);
  if (BATCH % ranks.count != 0) {
    fail("%d samples cannot be shared by %d ranks", BATCH, ranks.count);
  }
  char *text = read_text(kernels);
  for (int i = 0; i < ranks.own; i++) {
    model_prepare(&models[i], &ranks.own_ranks[i], text);
  }
  free(text);
  share_weights();
  for (int i = 0; i < STEPS; i++) {
    step();
  }
  fetch_weights();
  ranks_end(&ranks);
  double after = loss();
  printf("data_parallel: loss %.6f before, %.6f after\n", before, after);
  if (!(after < before / 2)) {
    fail("the network has not learned");
  }
  if (save != NULL) {
    write_whole(save, weights, sizeof weights);
  }
  if (expect != NULL) {
    compare(expect, tolerance);
  }
  printf("data_parallel: OK checksum %016llx\n", (unsigned long long)checksum());
  return 0;
}
