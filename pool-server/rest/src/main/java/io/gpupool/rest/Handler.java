// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

/** A handler of the calls of one operation. Called by many threads. */
interface Handler {
  Response answer(Call call) throws ProblemException;
}
