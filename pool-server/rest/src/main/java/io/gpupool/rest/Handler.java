// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

/** Answers the calls of one operation; called by many threads. */
interface Handler {
  Answer answer(Call call) throws ProblemException;
}
