// SPDX-License-Identifier: Apache-2.0
/** Tenants and their tokens: quotas, who may do what, and the audit log of it. */
@NullMarked
package io.gpupool.server.tenant;

import org.jspecify.annotations.NullMarked;
