// SPDX-License-Identifier: Apache-2.0
/** Checked requests, and the control plane that answers them. */
package io.gpupool.rest.call;
