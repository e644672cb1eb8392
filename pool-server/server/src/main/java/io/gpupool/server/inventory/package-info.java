// SPDX-License-Identifier: Apache-2.0
/** The inventory of this machine's GPUs. */
package io.gpupool.server.inventory;
