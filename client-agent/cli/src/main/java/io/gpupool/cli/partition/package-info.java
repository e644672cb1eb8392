// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool partition}. */
package io.gpupool.cli.partition;
