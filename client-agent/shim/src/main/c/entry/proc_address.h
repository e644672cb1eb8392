// SPDX-License-Identifier: Apache-2.0
// What programs look up by cuGetProcAddress tells for which CUDA they were made.
#pragma once

/** Says once, if the program was made for a newer CUDA than the driver runs; versions as CUDA counts. */
void proc_compare(int driverVersion);

/** Gives out no entry point from now on that needs a newer driver on the server. */
void proc_limit(int driverVersion);
