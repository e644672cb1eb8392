// SPDX-License-Identifier: Apache-2.0
// Options of the modelled cards in GPUPOOL_MODEL: gpus=2,mem=8Gi,context=400Mi,...
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MAX_CARDS = 16, NAME_BYTES = 64 };

struct options {
  char name[NAME_BYTES];       // name=: processes that say the same share their cards; else what they say of all of it
  uint32_t gpus;               // gpus=
  uint32_t version;            // version=: of CUDA, as cuDriverGetVersion returns it
  uint32_t init;               // init=: what cuInit answers
  uint32_t multiprocessors;    // sm=
  uint32_t queue;              // queue=: operations of a stream that a launch does not wait for
  uint64_t memoryBytes;        // mem=
  uint64_t contextBytes;       // context=: of the card's memory, for each context of a process
  uint64_t codeBytes;          // code=: the same, for each function that is loaded
  uint64_t kernelNanos;        // kernel=: of a kernel that does not say in its name how long it takes
  uint64_t sliceNanos;         // slice=: after so long a process gives the card to another one
  uint64_t switchNanos;        // switch=: which takes so long
  uint32_t variables;          // variables=: 1: those of modules have other addresses in each process
  uint32_t hints;              // hints=: 0: addresses that a program asks for are never given
  uint64_t copyBytesPerSecond; // copy=: between host and card, in each direction
  uint64_t fillBytesPerSecond; // fill=: of fills and copies on the card

  // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE makes a process an MPS client: it has that part of the multiprocessors, and
  // its kernels run beside those of others. The card slices its time among the other processes.
  bool isMpsClient;
};

/** Those of this process. */
extern struct options options;

/**
 * Reads them, and the environment of MPS; what is not said is as usual.
 *
 * @return NULL, or what cannot be understood
 */
const char *options_read(const char *text);
