// SPDX-License-Identifier: Apache-2.0
/** Verification of tokens that OpenID Connect issuers and Kubernetes clusters have signed. */
@NullMarked
package io.gpupool.server.oidc;

import org.jspecify.annotations.NullMarked;
