// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool agent} and {@code gpupool container}. */
package io.gpupool.cli.agent;
