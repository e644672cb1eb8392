// SPDX-License-Identifier: Apache-2.0
/** The options of an agent. */
package io.gpupool.agent.options;
