// SPDX-License-Identifier: Apache-2.0
/** Fences and copies between a program's sessions on several servers. */
package io.gpupool.worker.session.peer;
