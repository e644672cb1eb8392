// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool tenant} and {@code gpupool audit}. */
package io.gpupool.cli.tenant;
