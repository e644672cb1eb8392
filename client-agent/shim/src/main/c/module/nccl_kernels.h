// SPDX-License-Identifier: Apache-2.0
// Kernels of NCCL among those that a program asks for: it has an NCCL that gpupool's does not replace.
#pragma once

/** Warns, once, if the name is that of a kernel of NCCL and the servers would carry out NCCL's calls. */
void nccl_kernel_asked(const char *name);
