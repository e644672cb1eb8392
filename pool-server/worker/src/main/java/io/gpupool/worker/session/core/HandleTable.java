// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A table of the client's numbers of one kind: the backend's handle of each, and the owner that it
 * goes down with. Numbers may be used in any order; memory follows what is in use and is bounded.
 * Used by the session's thread alone.
 */
public final class HandleTable {
  /** Smaller numbers have meanings of their own. */
  static final int FIRST_NUMBER = 16;

  static final int MAX_LIVE = 1 << 20;
  private static final int PAGE_BITS = 10;
  private static final int PAGE_SIZE = 1 << PAGE_BITS;
  private static final int MAX_PAGES = 1 << 12;

  private @Nullable Page[] pages = new Page[1];
  private int livePages;
  private int live;

  /** The result of looking a handle up. */
  public static int found(long handle) {
    return handle == SessionServices.NO_HANDLE ? CudaResult.INVALID_HANDLE : CudaResult.SUCCESS;
  }

  /** The backend's handle, or {@link SessionServices#NO_HANDLE}. */
  public long get(int number) {
    Page page = page(number);
    long handle = page == null ? 0 : page.handles[number & PAGE_SIZE - 1];
    return handle == 0 ? SessionServices.NO_HANDLE : handle;
  }

  /** Returns the owner of a number; null if the number stands for nothing. */
  public @Nullable Object owner(int number) {
    Page page = page(number);
    return page == null ? null : page.owners[number & PAGE_SIZE - 1];
  }

  /** Returns the owner of a number that is in use. */
  public Object ownerOf(int number) {
    return Objects.requireNonNull(owner(number));
  }

  /** Returns 0 if a number can be given to something new, else the CUresult that says why not. */
  public int check(int number) {
    if (number < FIRST_NUMBER || get(number) != SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_VALUE;
    }
    boolean full = live == MAX_LIVE || page(number) == null && livePages == MAX_PAGES;
    return full ? CudaResult.OUT_OF_MEMORY : CudaResult.SUCCESS;
  }

  /** Gives a number that {@link #check} found good to a handle other than 0. */
  public void put(int number, long handle, Object owner) {
    int index = number >>> PAGE_BITS;
    if (index >= pages.length) {
      pages = Arrays.copyOf(pages, Math.max(index + 1, pages.length * 2));
    }
    Page page = pages[index];
    if (page == null) {
      page = new Page();
      pages[index] = page;
      livePages++;
    }
    page.handles[number & PAGE_SIZE - 1] = handle;
    page.owners[number & PAGE_SIZE - 1] = owner;
    page.live++;
    live++;
  }

  /** Forgets a number that is in use. */
  public void remove(int number) {
    Page page = Objects.requireNonNull(pages[number >>> PAGE_BITS]);
    page.handles[number & PAGE_SIZE - 1] = 0;
    page.owners[number & PAGE_SIZE - 1] = null;
    page.live--;
    live--;
    if (page.live == 0) {
      pages[number >>> PAGE_BITS] = null;
      livePages--;
    }
  }

  /** Forgets all that goes down with an owner. */
  public void removeOwnedBy(Object owner) {
    for (int index = 0; index < pages.length; index++) {
      Page page = pages[index];
      for (int i = 0; page != null && i < PAGE_SIZE; i++) {
        if (page.owners[i] == owner) {
          remove(index << PAGE_BITS | i);
          page = pages[index];
        }
      }
    }
  }

  /** Takes the handles of an owner. */
  public interface Visitor {
    void visit(int number, long handle);
  }

  /** Visits all that belongs to an owner, in the order of the numbers. */
  public void forEachOwnedBy(Object owner, Visitor visitor) {
    for (int index = 0; index < pages.length; index++) {
      Page page = pages[index];
      for (int i = 0; page != null && i < PAGE_SIZE; i++) {
        if (page.owners[i] == owner) {
          visitor.visit(index << PAGE_BITS | i, page.handles[i]);
        }
      }
    }
  }

  private @Nullable Page page(int number) {
    int index = number >>> PAGE_BITS;
    return number >= 0 && index < pages.length ? pages[index] : null;
  }

  private static final class Page {
    final long[] handles = new long[PAGE_SIZE];
    final @Nullable Object[] owners = new Object[PAGE_SIZE];
    int live;
  }
}
