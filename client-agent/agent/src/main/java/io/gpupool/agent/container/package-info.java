// SPDX-License-Identifier: Apache-2.0
/** What a container is given so that the programs in it find a pool. */
package io.gpupool.agent.container;
