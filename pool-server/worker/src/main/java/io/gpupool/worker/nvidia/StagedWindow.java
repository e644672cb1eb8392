// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.MemoryWindow;
import io.gpupool.worker.nvidia.memory.MovableMemory;

/** A window onto the memory of a GPU, by copies through a page-locked area. */
final class StagedWindow implements MemoryWindow {
  private final MovableMemory memory;
  private final NvidiaMovable driver;
  private final StagingArea area;

  StagedWindow(NvidiaMovable driver, MovableMemory memory) {
    this.memory = memory;
    this.driver = driver;
    area = new StagingArea(driver, memory.gpu(), MAX_BYTES);
    driver.opened(area);
  }

  @Override
  public boolean inPlace() {
    return false;
  }

  @Override
  public long read(long address, long lengthBytes) {
    synchronized (memory) {
      return lengthBytes <= MAX_BYTES && area.read(address, lengthBytes) == 0 ? area.address() : 0;
    }
  }

  @Override
  public long space(long address, long lengthBytes) {
    synchronized (memory) {
      return lengthBytes <= MAX_BYTES ? area.address() : 0;
    }
  }

  @Override
  public int write(long address, long lengthBytes) {
    synchronized (memory) {
      return area.write(address, lengthBytes);
    }
  }

  @Override
  public void close() {
    synchronized (memory) {
      area.close();
      driver.closed(area);
    }
  }
}
