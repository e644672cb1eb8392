// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.call;

import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;

/** A handler of the calls of one operation. Called by many threads. */
public interface Handler {
  Response answer(Call call) throws ProblemException;
}
