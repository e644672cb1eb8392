// SPDX-License-Identifier: Apache-2.0
/** The parts that all commands of clients share. */
package io.gpupool.cli;
