// SPDX-License-Identifier: Apache-2.0
/** The JSON form of the control plane's messages, of REST and of the command alike. */
package io.gpupool.json;
