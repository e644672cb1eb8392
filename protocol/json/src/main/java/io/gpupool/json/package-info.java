// SPDX-License-Identifier: Apache-2.0
/** The JSON form of the control plane's messages, of REST and of the command alike. */
@NullMarked
package io.gpupool.json;

import org.jspecify.annotations.NullMarked;
