// SPDX-License-Identifier: Apache-2.0
/** What a pod asks for, in all spellings, and why something cannot be asked for. Pure. */
package io.gpupool.k8s.request;
