// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool lease}. */
package io.gpupool.cli.lease;
