// SPDX-License-Identifier: Apache-2.0
/** Copies between the program, the device and its mirrors. */
package io.gpupool.worker.session.copy;
