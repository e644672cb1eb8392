// SPDX-License-Identifier: Apache-2.0
/** The gpupool command. */
package io.gpupool.cli;
