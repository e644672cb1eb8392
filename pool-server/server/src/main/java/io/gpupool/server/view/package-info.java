// SPDX-License-Identifier: Apache-2.0
/** Views of the pool as messages, each with what its caller may see. */
package io.gpupool.server.view;
