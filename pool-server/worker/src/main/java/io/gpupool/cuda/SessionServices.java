// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

/**
 * The services that generated decoding needs of its session. Called by the session's thread alone.
 */
public interface SessionServices {
  /** Stands for a client's number that names nothing. */
  long NO_HANDLE = Long.MIN_VALUE;

  /** The backend's stream for a client's number: 0 and 1 are the default stream. */
  long streamHandle(int number);

  /** The backend's event for a client's number. */
  long eventHandle(int number);

  /** The backend's module for a client's number. */
  long moduleHandle(int number);

  /** The backend's function for a client's number. */
  long functionHandle(int number);

  /** The backend's memory pool for a client's number. */
  long poolHandle(int number);

  /** The backend's array for a client's number. */
  long arrayHandle(int number);

  /** The backend's mipmapped array for a client's number. */
  long mipmapHandle(int number);

  /**
   * Whether rows of elements in device memory are the session's to name.
   *
   * @param pitchBytes from row to row; of no account for one row
   */
  boolean ownsMemory(long address, long pitchBytes, long elements, int elementBytes, long rows);

  /** If the current context has an error to report, answers the tag with it and returns true. */
  boolean answerDeferred(int tag);

  /** The length of {@link #outputs}. */
  int OUTPUT_BYTES = 512;

  /** The address of zeroed scratch memory for the outputs of one call. */
  long outputs();

  /** Answers a tag without payload; returns 0. */
  int reply(int tag, int result);

  /** Answers a tag with the outputs of one call; returns 0. */
  int reply(int tag, int result, long address, int lengthBytes);
}
