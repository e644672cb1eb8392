// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool bench}: measurements of pools. */
package io.gpupool.bench;
