// SPDX-License-Identifier: Apache-2.0
/** The state of a pool of several servers, in etcd. */
@NullMarked
package io.gpupool.server.state.etcd;

import org.jspecify.annotations.NullMarked;
